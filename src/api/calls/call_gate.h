// CallGate: whether the server takes calls now, and why not: models still load, it stops, or nobody
// is there who could answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "api/calls/model_registry.h"
#include "base/clock.h"
#include "llm/answer.h"

namespace windrow::api {

// Only the loop's thread touches it, where nothing else is said. `catalogue` outlives it.
class CallGate {
 public:
  // Whether nobody of these (ServedModel::upstreams) who could answer is there; 0: nobody at all.
  // Any thread; empty: it never is so.
  using NobodyAnswers = std::function<bool(uint64_t upstreams)>;

  CallGate(const ModelRegistry& catalogue, NobodyAnswers nobody_answers);

  // What is inside may go on until then; nothing more is taken from now on.
  void close(TimePoint give_up_at) { give_up_at_ = give_up_at; }

  // That time has come.
  bool is_over(TimePoint now) const { return give_up_at_ && now >= *give_up_at_; }

  // Asks anew whether anybody answers: for refusal(), which is asked more often.
  void look();

  ServeState state() const;

  // Why no call is taken.
  std::optional<llm::Failure> refusal() const;

  // Why this model cannot be asked. Any thread.
  std::optional<llm::Failure> refusal_of(const ServedModel& model) const;

  // False: refusal_of has nothing to say at the moment, whatever the model.
  bool may_refuse_models() const { return nobody_answers_ && state() == ServeState::kReady; }

 private:
  const ModelRegistry& catalogue_;
  const NobodyAnswers nobody_answers_;
  std::optional<TimePoint> give_up_at_;
  bool unreachable_ = false;
};

}  // namespace windrow::api
