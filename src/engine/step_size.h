// StepSize: how many prompt tokens a step takes besides the decoding rows, so that a step lasts
// about as long as somebody is willing to wait for its end. Pure; learns from the steps that ran.
//
// A longer step computes prompts with fewer passes; a shorter one lets rows join, leave and answer
// sooner. A batch job takes seconds, an interactive server a fraction of one, but for a prompt
// that is alone: a short step would only cost it time.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace windrow::engine {

class StepSize {
 public:
  // A step that one row has to itself may take `lone_target`, if that is longer.
  StepSize(Duration target, Duration lone_target, int32_t step_tokens_max);

  int32_t prefill_tokens_max() const { return tokens_within(target_s_); }
  int32_t lone_tokens_max() const { return tokens_within(lone_target_s_); }

  void step_took(int32_t prefill_tokens, int32_t decoding_rows, Duration duration);

 private:
  int32_t tokens_within(double target_s) const;

  double target_s_;
  double lone_target_s_;
  int32_t step_tokens_max_;
  std::optional<double> token_s_;  // moving mean over steps that prefill
};

}  // namespace windrow::engine
