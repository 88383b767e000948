#include "api/calls/call_gate.h"

#include <utility>

#include "api/wire/refusals.h"

namespace windrow::api {

CallGate::CallGate(const ModelRegistry& catalogue, NobodyAnswers nobody_answers)
    : catalogue_(catalogue), nobody_answers_(std::move(nobody_answers)) {}

void CallGate::look() {
  unreachable_ = may_refuse_models() && nobody_answers_(0);
}

ServeState CallGate::state() const {
  return give_up_at_ ? ServeState::kStopping : catalogue_.state();
}

std::optional<llm::Failure> CallGate::refusal() const {
  switch (state()) {
    case ServeState::kReady:
      break;
    case ServeState::kLoading:
      return loading();
    case ServeState::kStopping:
      return stopping();
  }
  return unreachable_ ? std::optional(unreachable()) : std::nullopt;
}

std::optional<llm::Failure> CallGate::refusal_of(const ServedModel& model) const {
  if (!nobody_answers_ || !nobody_answers_(model.upstreams)) return std::nullopt;
  return unreachable(model.name);
}

}  // namespace windrow::api
