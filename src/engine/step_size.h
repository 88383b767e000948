// StepSize: how many prompt tokens a step takes besides the decoding rows, so that a step lasts
// about as long as somebody is willing to wait for its end. Pure; learns from the steps that ran.
//
// A longer step computes prompts with fewer passes; a shorter one lets rows join, leave and answer
// sooner. A batch job takes seconds, an interactive server a fraction of one.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace windrow::engine {

class StepSize {
 public:
  StepSize(Duration step_target, int32_t step_tokens_max);

  int32_t prefill_tokens_max() const { return prefill_tokens_max_; }

  void step_took(int32_t prefill_tokens, int32_t decoding_rows, Duration duration);

 private:
  double step_target_s_;
  int32_t step_tokens_max_;
  int32_t prefill_tokens_max_;
  double token_s_ = 0;  // moving mean over steps that prefill; 0: none seen
};

}  // namespace windrow::engine
