// BatchWorkThrottle: how many tokens batch rows bring to a step beside those of clients (rows of
// higher priority), and between their steps. Pure; learns from the steps that ran. Used by one
// thread at a time.
//
// A step of thirty rows takes longer than one of two, and all rows in it wait for its end: a batch
// that fills the steps makes each word of a chat come later. So what a step with both takes beyond
// one of clients alone is a debt, which a share of the time that clients have for themselves pays
// back; until then batch rows sit out. In the long run clients wait longer by that share, however
// expensive the longer steps are; where they are not, as on a device with capacity left, batch rows
// take part in all steps. (As bandwidth servers bound background work on a processor: Abeni and
// Buttazzo, 1998.)
//
// A share bounds what all clients wait together, not what one of them waits: a long batch prompt in
// one step would delay a few of them by much. So a step with both takes at most about twice as long
// as one of clients alone. A step right after clients' last output is kept short, too, at a few
// times that length: their next requests are likely to arrive in it. That costs the batch little,
// because most of a short step is its fixed cost.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "engine/schedule/scheduled_step.h"

namespace windrow::engine {

class BatchWorkThrottle {
 public:
  struct Step {
    bool clients_wait = false;  // ScheduledStep::clients_wait
    bool clients_decode = false;
    bool clients_prefill = false;  // so its duration says nothing about decoding
    int32_t background_tokens = 0;
    Duration duration{};
  };

  // The limits for the next step.
  BackgroundTokens tokens() const;

  void step_took(const Step& step);

 private:
  int32_t tokens_within(double times) const;

  std::optional<double> clients_alone_s_;  // a step in which only clients decode; absent: unknown
  double debt_s_ = 0;
  double without_clients_s_ = 0;  // since clients last had something to compute

  // Moving sums over steps with both: the extra time, and the batch tokens that it was for.
  double longer_s_ = 0;
  double longer_tokens_ = 0;
};

}  // namespace windrow::engine
