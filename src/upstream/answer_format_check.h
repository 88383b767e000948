// Whether an answer has the form that its request asked for. Servers that do not enforce a
// `response_format` sometimes answer with something else; such a row is worth another attempt.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "llm/request.h"
#include "schema/validator.h"

namespace windrow::upstream {

struct WantedStructure {
  llm::Structure form = llm::Structure::kText;
  std::string_view field;  // the request's field that asked for it; outlives this
  std::shared_ptr<const schema::Validator> validator;  // null: any JSON of that form
};

struct StructureFinding {
  std::optional<std::string> fault;  // why it does not have the form; absent: it does
  bool truncated = false;            // a limit cut a choice off before it was complete
};

// Checks the choices of a reply to /v1/chat/completions or /v1/completions. Refusals and tool calls
// are not checked. Pure.
StructureFinding judge_structure(const WantedStructure& wanted, std::string_view reply_body);

// Why the text of one choice does not have the form. Pure.
std::optional<std::string> structure_fault(const WantedStructure& wanted, std::string_view text);

// AnswerSchemas: the JSON Schemas that the answers of a job have to fit. Most jobs have one in all
// their rows, so each is compiled once, by its text, and the last ones used are kept. Any thread.
class AnswerSchemas {
 public:
  // Told why a schema cannot be used, once for each schema and for the first ten, in words for
  // people; on the thread that asks for the schema. May be empty.
  using OnRefused = std::function<void(const std::string&)>;

  explicit AnswerSchemas(OnRefused on_refused, size_t kept_max = 64);

  // Returns the schema of this JSON text, with the meaning of the standard; null where it cannot
  // be used.
  std::shared_ptr<const schema::Validator> of(std::string_view text);

 private:
  struct Kept {
    std::shared_ptr<const schema::Validator> validator;  // null: it cannot be used
    uint64_t used = 0;
  };

  void keep(const Hash128& key, std::shared_ptr<const schema::Validator> validator);
  void report(const Hash128& key, const std::string& why);

  const OnRefused on_refused_;
  const size_t kept_max_;

  std::mutex mutex_;
  uint64_t uses_ = 0;
  boost::unordered_flat_map<Hash128, Kept, std::hash<Hash128>> kept_;
  boost::unordered_flat_set<Hash128, std::hash<Hash128>> reported_;
};

}  // namespace windrow::upstream
