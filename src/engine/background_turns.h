// BackgroundTurns: in which steps rows of batches take part beside those of clients. Pure; learns
// from the steps that ran.
//
// A step that computes thirty rows takes longer than one of two, and everybody in it waits for its
// end: a batch that fills the steps makes each word of a chat come later. So batches pay for what
// they make clients wait. What a step with both takes beyond one of clients alone is a debt, which
// time that clients have for themselves pays back, a share of it; until then rows of batches sit
// out. In the long run clients wait by that share longer, however much dearer the longer steps are,
// and where they are not, as on a device that has room, batches take part in all of them. (As
// bandwidth servers bound what background work may take of a processor: Abeni and Buttazzo, 1998.)
//
// Used by one thread at a time.
#pragma once

#include <optional>

#include "base/clock.h"

namespace windrow::engine {

class BackgroundTurns {
 public:
  // Whether rows of batches take part in the next step, where clients have some in it.
  bool take_part() const { return clients_alone_s_ && debt_s_ <= 0; }

  // A step ran with rows of clients, of batches or both. `prefills`: it computed prompts, so it
  // says nothing of how long clients take for a word.
  void step_took(bool clients, bool background, bool prefills, Duration duration);

 private:
  std::optional<double> clients_alone_s_;  // a step of theirs; absent: not known yet
  double debt_s_ = 0;
};

}  // namespace windrow::engine
