#include "api/calls/admission.h"

#include <utility>

#include "api/wire/refusals.h"
#include "http/gunzip.h"
#include "json/limits.h"

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

std::optional<llm::Failure> admit_body(BodyMemoryBudget& budget, bool gzip, size_t unpacked_max,
                                       std::string& body, size_t& taken) {
  if (gzip) {
    Result<std::string> unpacked = http::gunzip(body, unpacked_max);
    if (!unpacked) return unpackable_body(unpacked.error());
    if (!budget.grow(unpacked->size())) return no_room_for_body();
    taken += unpacked->size();
    body = *std::move(unpacked);
  }
  const size_t values = count_json_values(body);
  if (values > kJsonValuesMax) return too_many_values(values);
  const size_t bytes = json_weight(values, body.size());
  if (!budget.grow(bytes)) return no_room_for_body();
  taken += bytes;
  return std::nullopt;
}

}  // namespace windrow::api
