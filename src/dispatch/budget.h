// Budget: what a job may spend. Calls in flight count with what they are expected to cost, so the
// limit errs towards spending less. Pure; used by one thread at a time.
#pragma once

#include <cstdint>

namespace windrow::dispatch {

// Billionths of the currency's unit: a token costs some hundred of them, a job some 10^12.
using Cost = int64_t;

constexpr Cost kCostUnit = 1'000'000'000;

class Budget {
 public:
  explicit Budget(Cost cost_max = 0) : cost_max_(cost_max) {}  // 0: no limit

  // Whether a call that is expected to cost so much may be sent. What is refused may be allowed
  // later, when others have cost less than expected.
  bool affords(Cost expected) const {
    return cost_max_ <= 0 || spent_ + kept_back_ + expected <= cost_max_;
  }

  // Reserves the cost of a call; false, and nothing is reserved, where it is not affordable.
  [[nodiscard]] bool keep_back(Cost expected) {
    if (!affords(expected)) return false;
    kept_back_ += expected;
    return true;
  }

  // The call has ended: gives back what was reserved and counts what it cost.
  void spend(Cost expected, Cost real) {
    kept_back_ -= expected;
    spent_ += real;
  }

  // A call of this cost is not affordable, and nothing in flight can change that.
  bool spent_for_good(Cost next) const {
    return cost_max_ > 0 && kept_back_ == 0 && spent_ + next > cost_max_;
  }

  Cost spent() const { return spent_; }

 private:
  const Cost cost_max_;
  Cost spent_ = 0;
  Cost kept_back_ = 0;
};

}  // namespace windrow::dispatch
