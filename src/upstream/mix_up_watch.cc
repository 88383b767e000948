#include "upstream/mix_up_watch.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace windrow::upstream {

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
