// Budget: what may be spent, by a table of prices. What is out is counted with what it is expected
// to cost, so the limit errs towards spending less. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace windrow::dispatch {

// Billionths of the currency's unit: a token costs some hundred of them, a job some 10^12.
using Cost = int64_t;

constexpr Cost kCostUnit = 1'000'000'000;

// For one model.
struct Price {
  Cost prompt_token = 0;
  Cost cached_token = 0;  // of a prompt, computed before
  Cost answer_token = 0;

  Cost of(int64_t prompt_tokens, int64_t cached_tokens, int64_t answer_tokens) const {
    const int64_t cached = std::min(cached_tokens, prompt_tokens);
    return (prompt_tokens - cached) * prompt_token + cached * cached_token +
           answer_tokens * answer_token;
  }
};

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
