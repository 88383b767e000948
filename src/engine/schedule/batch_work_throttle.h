// BatchWorkThrottle: how many tokens rows of batches bring to a step beside those of clients, and
// between theirs. Pure; learns from the steps that ran.
//
// A step that computes thirty rows takes longer than one of two, and everybody in it waits for its
// end: a batch that fills the steps makes each word of a chat come later. So batches pay for what
// they make clients wait. What a step with both takes beyond one of clients alone is a debt, which
// time that clients have for themselves pays back, a share of it; until then rows of batches sit
// out. In the long run clients wait by that share longer, however much dearer the longer steps are,
// and where they are not, as on a device that has room, batches take part in all of them. (As
// bandwidth servers bound what background work may take of a processor: Abeni and Buttazzo, 1998.)
//
// A share bounds what all wait together, not what one of them does: a long prompt of a batch in one
// step would be felt by a few, and by these much. So a step with both takes at most about twice as
// long as one of clients alone. And one that begins when clients have just got their words, and are
// about to ask for more, is one they meet on their way in: it takes a few times as long, which
// costs the batch little, for most of it is not what a step costs whatever it computes.
//
// Used by one thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "engine/schedule/scheduled_step.h"

namespace windrow::engine {

class BatchWorkThrottle {
 public:
  struct Step {
    bool clients_wait = false;  // they have something to compute, in it or after it
    bool clients_decode = false;
    bool clients_prefill = false;  // it says nothing of how long they take for a word
    int32_t background_tokens = 0;
    Duration duration{};
  };

  // Of the next step.
  BackgroundTokens tokens() const;

  void step_took(const Step& step);

 private:
  int32_t tokens_within(double times) const;

  std::optional<double> clients_alone_s_;  // a step in which they decode; absent: not known yet
  double debt_s_ = 0;
  double without_clients_s_ = 0;  // steps since they last had something to compute

  // Moving sums over steps with both: what they took longer, and what for.
  double longer_s_ = 0;
  double longer_tokens_ = 0;
};

}  // namespace windrow::engine
