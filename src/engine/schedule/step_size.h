// StepSize: how many prompt tokens a step takes besides the decoding rows, so that a step lasts
// about as long as somebody is willing to wait for its end. Pure; learns from the steps that ran.
//
// A longer step computes prompts with fewer passes; a shorter one lets rows join, leave and answer
// sooner. A batch job takes seconds, an interactive server a fraction of one, but for a prompt
// that is alone: a short step would only cost it time.
//
// A step costs something whatever it computes: weights are read, and attention works in tiles of
// rows over all cells. Were that taken for the price of its tokens, a step that is too long would
// be made smaller, its tokens dearer by that, and the next smaller still. So the fixed part is
// told apart, by a line through the steps (least squares, old ones forgotten), and a step has at
// least as many tokens as take twice as long as it, though it then lasts longer than wanted.
#pragma once

#include <cstdint>

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
  void tell_fixed_apart();

  double target_s_;
  double lone_target_s_;
  int32_t step_tokens_max_;

  // Moving moments over steps that prefill.
  bool knows_ = false;
  double tokens_mean_ = 0;
  double duration_mean_s_ = 0;
  double tokens_variance_ = 0;
  double covariance_ = 0;  // of tokens and seconds

  double fixed_share_ = 0;  // of the mean duration
};

}  // namespace windrow::engine
