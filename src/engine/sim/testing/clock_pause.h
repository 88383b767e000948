// ClockPause: a Pause that takes no time but moves a test's clock to where it would be.
#pragma once

#include "base/testing/manual_clock.h"
#include "engine/sim/sim_runner.h"

namespace windrow::engine::sim::testing {

class ClockPause final : public Pause {
 public:
  explicit ClockPause(windrow::testing::ManualClock& clock) : clock_(clock) {}

  void until(TimePoint at) override { clock_.advance(at - clock_.now()); }

 private:
  windrow::testing::ManualClock& clock_;
};

}  // namespace windrow::engine::sim::testing
