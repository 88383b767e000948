// ResponseStore: recent answers of /v1/responses with their input, in bounded memory, so that later
// requests can continue them (previous_response_id), refer to their items and fetch them.
//
// Each key sees its own responses only. When the store is full, the key that uses most memory loses
// its least recently used responses: a key below its equal share loses nothing to others.
//
// Using a response also uses those that it continues, which then count as used more recently. So
// the end of a conversation is evicted before its beginning, and whatever is stored can be
// continued.
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

#include "api/wire/translation.h"
#include "llm/answer.h"

namespace windrow::api {

// The items of one request's own input, without those of earlier turns.
struct StoredItems {
  std::string text = "[]";       // a JSON array
  std::vector<std::string> ids;  // of the items
};

// All texts are made where bodies are read and answers are written, so that storing only moves
// them.
struct StoredResponse {
  std::string id;           // "resp_..."
  std::string body;         // the reply: a JSON object with "output"
  std::string previous_id;  // the response that it continues; empty: none
  StoredItems input;
  std::vector<std::string> output_ids;  // of the items of `body`
};

// `items` are objects with a type. Items without an id get one, by which they can be referred to.
StoredItems stored_items(std::string_view response_id, boost::json::array items);

// Thread-safe. `key` is the name of an API key; empty where the server demands none.
class ResponseStore {
 public:
  // 0: nothing is stored.
  explicit ResponseStore(size_t bytes_max) : bytes_max_(bytes_max) {}

  size_t bytes_max() const { return bytes_max_; }

  // Of all keys together.
  size_t bytes() const;
  size_t count() const;

  // A response that is larger than the whole store is dropped. Fast enough for the loop's thread.
  void keep(std::string_view key, StoredResponse response);

  // False if there is none.
  bool erase(std::string_view key, std::string_view id);

  // The following methods count as a use. They fail with 404 if a response, or one that it
  // continues, is not stored.

  // The reply as it was sent.
  std::variant<std::string, llm::Failure> body(std::string_view key, std::string_view id);

  // The input items, earlier turns included, oldest first.
  std::variant<boost::json::array, llm::Failure> input_items(std::string_view key,
                                                             std::string_view id);

  // The input items and the response's own output, for a request that continues it.
  std::variant<boost::json::array, llm::Failure> conversation(std::string_view key,
                                                              std::string_view id);

  // An item by its id; the newest one if several have it.
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
    std::list<Kept> by_use;  // least recently used first
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

// The stored responses of one key, for the translation of one body. It adds up the size of what it
// returns.
class KeyedResponses final : public EarlierItems {
 public:
  // `store` outlives it.
  KeyedResponses(ResponseStore& store, std::string_view key) : store_(store), key_(key) {}

  bool keeps() const override { return store_.bytes_max() > 0; }
  std::variant<boost::json::array, llm::Failure> conversation(
      std::string_view response_id) const override;
  std::variant<boost::json::value, llm::Failure> item(std::string_view id) const override;

  // The memory of all values that were returned.
  size_t bytes() const { return bytes_; }

 private:
  ResponseStore& store_;
  const std::string_view key_;
  mutable size_t bytes_ = 0;
  mutable size_t item_bytes_ = 0;  // the text of items that were referred to
};

}  // namespace windrow::api
