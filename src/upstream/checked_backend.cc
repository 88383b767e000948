#include "upstream/checked_backend.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace windrow::upstream {

CheckedBackend::CheckedBackend(llm::Backend& inner, std::string name, uint64_t seed)
    : inner_(inner), state_(std::make_shared<State>(seed)) {
  state_->name = std::move(name);
}

// An answer that cannot be trusted is none.
llm::Outcome CheckedBackend::State::judged(llm::Outcome outcome) {
  const std::scoped_lock lock(mutex);
  if (const auto* answer = std::get_if<llm::Answer>(&outcome); answer && fault.empty())
    fault = check.see_row(answer->raw).value_or("");
  if (fault.empty()) return outcome;
  return llm::Failure{
      .failure_class = llm::FailureClass::kBackend,
      .status = 502,
      .code = "answers_mixed_up",
      .message = fmt::format(
          "{} mixes answers up: {}. Rows that it answered before may have another row's answer "
          "too; tell its makers, or see whether --serial helps, and start over with --fresh",
          name, fault),
      .param = {}};
}

void CheckedBackend::State::see(uint64_t number, const llm::Outcome& outcome) {
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  if (answer == nullptr) return;
  const std::scoped_lock lock(mutex);
  std::optional<std::string> seen = check.see_question(number, answer->raw);
  if (seen && fault.empty()) fault = *std::move(seen);
}

void CheckedBackend::submit(llm::Request request, Done done) {
  const bool chat = request.endpoint == llm::Endpoint::kChatCompletions;
  const bool plants = chat && [&] {
    const std::scoped_lock lock(state_->mutex);
    return state_->check.wants_one();
  }();
  std::string model = plants ? request.model : "";
  inner_.submit(std::move(request), [this, state = state_, plants, model = std::move(model),
                                     done = std::move(done)](llm::Outcome outcome) mutable {
    outcome = state->judged(std::move(outcome));
    const bool answered = std::holds_alternative<llm::Answer>(outcome);
    if (!plants || !answered) return done(std::move(outcome));
    plant(std::move(model), std::move(outcome), std::move(done));
  });
}

void CheckedBackend::plant(std::string model, llm::Outcome outcome, Done done) {
  SelfCheck::Question question;
  {
    const std::scoped_lock lock(state_->mutex);
    question = state_->check.plant(model);
  }
  llm::Request request;
  request.endpoint = llm::Endpoint::kChatCompletions;
  request.model = std::move(model);
  request.raw = std::move(question.body);
  inner_.submit(std::move(request),
                [state = state_, number = question.number, row = std::move(outcome),
                 done = std::move(done)](const llm::Outcome& answer) mutable {
                  state->see(number, answer);
                  done(state->judged(std::move(row)));
                });
}

SelfCheckCounts CheckedBackend::counts() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->check.counts();
}

}  // namespace windrow::upstream
