#include "upstream/self_check.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <utility>
#include <variant>

#include "base/format.h"
#include "base/hash.h"

namespace windrow::upstream {
namespace {

namespace json = boost::json;

constexpr uint64_t kFirstRows = 8;
constexpr uint64_t kEvery = 20;

}  // namespace

SelfCheck::SelfCheck(uint64_t run) : prefix_(fmt::format("wchk{}n", to_hex(run).substr(0, 8))) {}

// A letter ends the code, so that 1 is not found in 12.
std::string SelfCheck::code(uint64_t number) const {
  return fmt::format("{}{}z", prefix_, number);
}

bool SelfCheck::wants_one() {
  const uint64_t row = rows_++;
  return row < kFirstRows || row % kEvery == 0;
}

SelfCheck::Question SelfCheck::plant(std::string_view model) {
  const uint64_t number = ++planted_;
  json::object body;
  if (!model.empty()) body["model"] = model;
  body["messages"] = {
      {{"role", "user"},
       {"content", fmt::format("Repeat this code, and write nothing else:\n{}", code(number))}}};
  body["max_tokens"] = kQuestionTokensMax;
  body["temperature"] = 0;
  return {.number = number, .body = json::serialize(body)};
}

std::optional<uint64_t> SelfCheck::question_in(std::string_view body) const {
  const size_t at = body.find(prefix_);
  if (at == std::string_view::npos) return std::nullopt;
  uint64_t number = 0;
  const std::string_view rest = body.substr(at + prefix_.size());
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const bool whole = error == std::errc() && end != rest.data() + rest.size() && *end == 'z';
  return whole ? std::optional(number) : std::nullopt;
}

std::optional<std::string> SelfCheck::see_row(std::string_view body) {
  if (body.find(prefix_) == std::string_view::npos) return std::nullopt;
  ++counts_.mixed_up;
  return "a row was given the answer to a question that Windrow had planted";
}

std::optional<std::string> SelfCheck::see_question(uint64_t number, std::string_view body) {
  ++counts_.planted;
  const std::string own = code(number);
  bool repeated = false;
  for (size_t at = body.find(prefix_); at != std::string_view::npos;
       at = body.find(prefix_, at + 1)) {
    if (body.substr(at).starts_with(own)) {
      repeated = true;
      continue;
    }
    // A code that is cut off or misspelt proves nothing; a whole one belongs to another question.
    const std::string_view rest = body.substr(at + prefix_.size());
    const size_t digits = rest.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos || rest[digits] != 'z') continue;
    ++counts_.mixed_up;
    return "a planted question was given the answer to another one";
  }
  if (repeated) ++counts_.repeated;
  return std::nullopt;
}

std::string to_string(const SelfCheckCounts& counts) {
  std::string text = fmt::format("self-check: {} questions planted, {} answers had the right code",
                                 with_thousands(counts.planted), with_thousands(counts.repeated));
  if (counts.mixed_up > 0) {
    text += fmt::format(", {} answers were another's", with_thousands(counts.mixed_up));
  } else if (counts.planted > 0 && counts.repeated == 0) {
    text += "; the model repeats no code, so only rows that got one could have shown a mix-up";
  }
  return text;
}

std::optional<llm::Request> MixUpWatch::question_beside(const llm::Request& row) {
  if (row.endpoint != llm::Endpoint::kChatCompletions) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  if (!check_.wants_one()) return std::nullopt;
  SelfCheck::Question question = check_.plant(row.model);
  llm::Request request;
  request.endpoint = row.endpoint;
  request.model = row.model;
  request.raw = std::move(question.body);
  request.output_tokens_max = kQuestionTokensMax;
  request.sampling.temperature = 0;
  return request;
}

std::optional<uint64_t> MixUpWatch::question_of(const llm::Request& request) const {
  if (request.endpoint != llm::Endpoint::kChatCompletions) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  return check_.question_in(request.raw);
}

llm::Outcome MixUpWatch::judge(std::string_view server, std::optional<uint64_t> question,
                               llm::Outcome outcome) {
  const std::scoped_lock lock(mutex_);
  if (const auto* answer = std::get_if<llm::Answer>(&outcome)) {
    const std::optional<std::string> seen =
        question ? check_.see_question(*question, answer->raw) : check_.see_row(answer->raw);
    if (seen && fault_.empty()) {
      fault_ = fmt::format(
          "{} mixes answers up: {}. Rows that it answered before may have the answer of another "
          "row too, so start over with --fresh, once it is fixed, or with --serial if that helps",
          server, *seen);
    }
  }
  if (fault_.empty()) return outcome;
  return llm::Failure{.failure_class = llm::FailureClass::kBackend,
                      .status = 502,
                      .code = "answers_mixed_up",
                      .message = fault_,
                      .param = {}};
}

SelfCheckCounts MixUpWatch::counts() const {
  const std::scoped_lock lock(mutex_);
  return check_.counts();
}

std::optional<Error> MixUpWatch::verdict() const {
  const std::scoped_lock lock(mutex_);
  if (fault_.empty()) return std::nullopt;
  return Error{ErrorKind::kUnavailable, fault_};
}

}  // namespace windrow::upstream
