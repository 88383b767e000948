// AnswerSchemas: the JSON Schemas that a run's answers have to fit. Most jobs have one in all their
// rows, so each is compiled once, by its text, and the last ones are kept. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "base/hash.h"
#include "schema/validator.h"

namespace windrow::upstream {

class AnswerSchemas {
 public:
  // Told why a schema cannot be judged, once of each, in words for people; after some it says that
  // no more are said. On the thread that asks for the schema. May be empty.
  using OnRefused = std::function<void(const std::string&)>;

  explicit AnswerSchemas(OnRefused on_refused, size_t kept_max = 64);

  // For the schema of that JSON text, with the standard's meaning: a server is held to no more.
  // Null where it cannot be judged.
  std::shared_ptr<const schema::Validator> of(std::string_view text);

 private:
  struct Kept {
    std::shared_ptr<const schema::Validator> validator;  // null: it cannot be judged
    uint64_t used = 0;
  };

  void keep(const Hash128& key, std::shared_ptr<const schema::Validator> validator);
  void tell(const Hash128& key, const std::string& why);

  const OnRefused on_refused_;
  const size_t kept_max_;

  std::mutex mutex_;
  uint64_t uses_ = 0;
  boost::unordered_flat_map<Hash128, Kept, std::hash<Hash128>> kept_;
  boost::unordered_flat_set<Hash128, std::hash<Hash128>> told_;
};

}  // namespace windrow::upstream
