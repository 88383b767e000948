// ResponseStore: recent answers of /v1/responses with their input, in memory of a bounded size, so
// that later requests can continue them (previous_response_id), refer to their items and fetch
// them.
//
// Each key sees its own responses alone. When all of them together are more than the store may
// have, the key that takes most gives up those it used longest ago: a key that takes less than its
// equal share loses nothing to others.
//
// Using a response uses those that it continues, and these count as used later than it is: so the
// end of a conversation is evicted before its beginning, and what is there can be continued.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/storage/stored_response.h"
#include "api/wire/earlier_items.h"
#include "llm/answer.h"

namespace windrow::api {

// Thread-safe. `key` is the name of an API key; empty where the server demands none.
class ResponseStore {
 public:
  // 0: nothing is kept.
  explicit ResponseStore(size_t bytes_max) : bytes_max_(bytes_max) {}

  size_t bytes_max() const { return bytes_max_; }

  // What all keys keep together.
  size_t bytes() const;
  size_t count() const;

  // One that is larger than the whole store is not kept. Reads no text: it may be called on the
  // loop's thread.
  void keep(std::string_view key, StoredResponse response);

  // False: there is none.
  bool erase(std::string_view key, std::string_view id);

  // All of the following count as a use. Its body as it was answered:
  std::variant<std::string, llm::Failure> body(std::string_view key, std::string_view id);

  // The items that it was made from, those of the turns before it included, oldest first.
  std::variant<boost::json::array, llm::Failure> input_items(std::string_view key,
                                                             std::string_view id);

  // The same and its own output, for a request that continues it.
  std::variant<boost::json::array, llm::Failure> conversation(std::string_view key,
                                                              std::string_view id);

  // The newest where several have this id.
  std::variant<boost::json::value, llm::Failure> item(std::string_view key, std::string_view id);

  // The error for an id that names no response.
  llm::Failure no_response(std::string_view id) const;

 private:
  struct Kept {
    std::string id;
    std::string previous_id;
    std::string body;
    std::string input;  // JSON, as the items are sent
    std::vector<std::string> item_ids;
    size_t bytes = 0;
  };
  using Place = std::list<Kept>::iterator;

  // What one key keeps.
  struct Shelf {
    std::list<Kept> by_use;  // the one that was used longest ago first
    std::map<std::string, Place, std::less<>> by_id;
    std::multimap<std::string, Place, std::less<>> by_item;
    size_t bytes = 0;
  };

  Shelf* shelf_of(std::string_view key);
  static std::optional<Place> find(Shelf& shelf, std::string_view id);
  static void use(Shelf& shelf, Place place);
  void remove(Shelf& shelf, Place place);
  void evict();
  std::variant<boost::json::array, llm::Failure> items_up_to(std::string_view key,
                                                             std::string_view id, bool with_output);
  llm::Failure no_previous(std::string_view id) const;
  llm::Failure no_earlier_turn(std::string_view id, std::string_view earlier) const;
  llm::Failure no_item(std::string_view id) const;
  std::string why_not_there() const;

  const size_t bytes_max_;
  mutable std::mutex mutex_;
  std::map<std::string, Shelf, std::less<>> shelves_;  // by key; none is empty
  size_t bytes_ = 0;
  size_t count_ = 0;
};

// What one key keeps, for the translation of one body. It adds up what it hands out.
class KeyedResponses final : public EarlierItems {
 public:
  // `store` outlives it.
  KeyedResponses(ResponseStore& store, std::string_view key) : store_(store), key_(key) {}

  bool keeps() const override { return store_.bytes_max() > 0; }
  std::variant<boost::json::array, llm::Failure> conversation(
      std::string_view response_id) const override;
  std::variant<boost::json::value, llm::Failure> item(std::string_view id) const override;

  // Of the values that were handed out, in memory.
  size_t bytes() const { return bytes_; }

 private:
  ResponseStore& store_;
  const std::string_view key_;
  mutable size_t bytes_ = 0;
  mutable size_t item_bytes_ = 0;  // the text of items that were referred to
};

}  // namespace windrow::api
