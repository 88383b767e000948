#include "upstream/answer_format_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "json/limits.h"
#include "json/values.h"

namespace windrow::upstream {
namespace {

namespace json = boost::json;

constexpr size_t kAnswerQuoteBytesMax = 80;

bool ended_by(const json::value& choice, std::string_view why) {
  const json::value* reason = member_in(&choice, "finish_reason");
  return reason != nullptr && reason->is_string() && reason->get_string() == why;
}

// The text of a choice of a chat or of a completion.
const json::string* answer_text(const json::value& choice) {
  const json::value* text = member_in(&choice, "text");
  if (text == nullptr) text = member_in(member_in(&choice, "message"), "content");
  return text == nullptr ? nullptr : text->if_string();
}

// The schema of all JSON texts, and that of all JSON objects.
const schema::Validator& any_of_form(llm::Structure form) {
  static const schema::Validator kAny = schema::Validator::compile(true, {}).value();
  static const schema::Validator kObject =
      schema::Validator::compile(json::object{{"type", "object"}}, {}).value();
  return form == llm::Structure::kJsonObject ? kObject : kAny;
}

std::string quoted_answer(std::string_view text) {
  return fmt::format("\"{}{}\"", utf8_repair(text.substr(0, kAnswerQuoteBytesMax)),
                     text.size() > kAnswerQuoteBytesMax ? "..." : "");
}

namespace json = boost::json;

// A file whose rows all have schemas of their own would otherwise fill the console.
constexpr size_t kReportedMax = 10;

Result<schema::Validator> compile(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error, {}, {.max_depth = kJsonDepthMax});
  if (error) return Error{ErrorKind::kInvalid, fmt::format("it is no JSON ({})", error.message())};
  return schema::Validator::compile(value, {});
}

}  // namespace

std::optional<std::string> structure_fault(const WantedStructure& wanted, std::string_view text) {
  const schema::Validator& form = any_of_form(wanted.form);
  const std::optional<schema::Violation> violation =
      wanted.validator ? wanted.validator->check(text) : form.check(text);
  if (!violation) return std::nullopt;
  const bool object = wanted.form == llm::Structure::kJsonObject;
  if (violation->kind == schema::Violation::Kind::kNotJson || wanted.validator == nullptr) {
    return fmt::format("the answer is no JSON{}, which {} asked for: {}", object ? " object" : "",
                       wanted.field, quoted_answer(text));
  }
  return fmt::format("the answer does not fit the schema in {}: {}; it begins {}", wanted.field,
                     violation->message, quoted_answer(text));
}

StructureFinding judge_structure(const WantedStructure& wanted, std::string_view reply_body) {
  StructureFinding finding;
  if (wanted.form == llm::Structure::kText) return finding;
  boost::system::error_code error;
  const json::value body = json::parse(reply_body, error, {}, {.max_depth = kJsonDepthMax});
  const json::value* choices = error ? nullptr : member_in(&body, "choices");
  if (choices == nullptr || !choices->is_array()) return finding;
  for (const json::value& choice : choices->get_array()) {
    const json::string* text = answer_text(choice);
    if (text == nullptr) continue;
    if (ended_by(choice, "stop") && !finding.fault) {
      finding.fault = structure_fault(wanted, *text);
    } else if (ended_by(choice, "length")) {
      finding.truncated = finding.truncated || structure_fault(wanted, *text).has_value();
    }
  }
  return finding;
}

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
  // Without the lock, so that other rows continue; two that compile the same schema do no harm.
  Result<schema::Validator> compiled = compile(text);
  std::shared_ptr<const schema::Validator> validator;
  if (compiled) {
    validator = std::make_shared<const schema::Validator>(*std::move(compiled));
  } else {
    report(key, compiled.error().message);
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

void AnswerSchemas::report(const Hash128& key, const std::string& why) {
  bool last = false;
  {
    const std::scoped_lock lock(mutex_);
    if (!on_refused_ || reported_.size() >= kReportedMax || !reported_.insert(key).second) return;
    last = reported_.size() == kReportedMax;
  }
  on_refused_(
      fmt::format("answers cannot be checked against their schema, only for being JSON: {}{}", why,
                  last ? "; further schemas are not reported" : ""));
}

}  // namespace windrow::upstream
