#include "upstream/answer_schemas.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <optional>
#include <utility>

#include "json/depth.h"

namespace windrow::upstream {
namespace {

namespace json = boost::json;

// A file whose rows all have schemas of their own would otherwise say nothing else.
constexpr size_t kToldMax = 10;

Result<schema::Validator> compile(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error, {}, {.max_depth = kJsonDepthMax});
  if (error) return Error{ErrorKind::kInvalid, fmt::format("it is no JSON ({})", error.message())};
  return schema::Validator::compile(value, {});
}

}  // namespace

AnswerSchemas::AnswerSchemas(OnRefused on_refused, size_t kept_max)
    : on_refused_(std::move(on_refused)), kept_max_(kept_max) {}

std::shared_ptr<const schema::Validator> AnswerSchemas::of(std::string_view text) {
  const Hash128 key = hash128(text);
  {
    const std::scoped_lock lock(mutex_);
    const auto found = kept_.find(key);
    if (found != kept_.end()) {
      found->second.used = ++uses_;
      return found->second.validator;
    }
  }
  // Not under the lock: other rows go on meanwhile, and two that compile the same do no harm.
  Result<schema::Validator> compiled = compile(text);
  std::shared_ptr<const schema::Validator> validator;
  if (compiled) {
    validator = std::make_shared<const schema::Validator>(*std::move(compiled));
  } else {
    tell(key, compiled.error().message);
  }
  keep(key, validator);
  return validator;
}

void AnswerSchemas::keep(const Hash128& key, std::shared_ptr<const schema::Validator> validator) {
  const std::scoped_lock lock(mutex_);
  if (kept_.size() >= kept_max_ && !kept_.contains(key)) {
    kept_.erase(std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
  kept_.insert_or_assign(key, Kept{std::move(validator), ++uses_});
}

void AnswerSchemas::tell(const Hash128& key, const std::string& why) {
  bool last = false;
  {
    const std::scoped_lock lock(mutex_);
    if (!on_refused_ || told_.size() >= kToldMax || !told_.insert(key).second) return;
    last = told_.size() == kToldMax;
  }
  on_refused_(fmt::format("answers cannot be judged by their schema, only by being JSON: {}{}", why,
                          last ? "; of other schemas this is not said any more" : ""));
}

}  // namespace windrow::upstream
