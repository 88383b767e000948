// Budget: what may be spent. What is out is counted with what it is expected
// to cost, so the limit errs towards spending less. Pure.
#pragma once

#include <cstdint>

namespace windrow::dispatch {

// Billionths of the currency's unit: a token costs some hundred of them, a job some 10^12.
using Cost = int64_t;

constexpr Cost kCostUnit = 1'000'000'000;

class Budget {
 public:
  explicit Budget(Cost cost_max = 0) : cost_max_(cost_max) {}  // 0: no limit

  // False, and nothing is kept back: no more may be spent. What is refused once may be taken later,
  // when others cost less than expected.
  [[nodiscard]] bool keep_back(Cost expected) {
    if (cost_max_ > 0 && spent_ + kept_back_ + expected > cost_max_) return false;
    kept_back_ += expected;
    return true;
  }

  void spend(Cost expected, Cost real) {
    kept_back_ -= expected;
    spent_ += real;
  }

  // Nothing that is out can make room any more.
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
