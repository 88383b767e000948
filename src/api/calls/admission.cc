#include "api/calls/admission.h"

#include <utility>

#include "api/wire/refusals.h"

namespace windrow::api {

CallGate::CallGate(const ModelRegistry& registry, Unreachable unreachable)
    : registry_(registry), unreachable_upstreams_(std::move(unreachable)) {}

void CallGate::look() {
  unreachable_ = may_refuse_models() && unreachable_upstreams_(0);
}

ServeState CallGate::state() const {
  return give_up_at_ ? ServeState::kStopping : registry_.state();
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
  if (!unreachable_upstreams_ || !unreachable_upstreams_(model.upstreams)) return std::nullopt;
  return unreachable(model.name);
}

}  // namespace windrow::api
