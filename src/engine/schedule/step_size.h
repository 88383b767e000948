// StepSize: how many prompt tokens a step has besides the decoding rows', so that it lasts about as
// long as intended. Pure; learns from the steps that ran. Used by one thread at a time.
//
// A longer step computes prompts with fewer passes; a shorter one lets rows join, leave and answer
// sooner. A batch job takes seconds, an interactive server a fraction of one; a prompt that has the
// step to itself takes longer ones, because a short step would only cost it time.
//
// A step has a fixed cost: weights are read, and attention works in tiles of rows over all cells.
// If that counted as the price of its tokens, a step that is too long would be made smaller, its
// tokens more expensive by that, and the next one smaller still. So the fixed part is separated by
// a line through the steps (least squares, with forgetting), and a step has at least as many tokens
// as take twice as long as it, though it then lasts longer than intended.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace windrow::engine {

class StepSize {
 public:
  // `lone_target`: for a step that one row has to itself, if it is longer than `target`.
  StepSize(Duration target, Duration lone_target, int32_t step_tokens_max);

  // For BatchScheduler::next; at least 1.
  int32_t prefill_tokens_max() const { return tokens_within(target_s_); }
  int32_t lone_tokens_max() const { return tokens_within(lone_target_s_); }

  // A step ran with so many prompt tokens and decoding rows.
  void step_took(int32_t prefill_tokens, int32_t decoding_rows, Duration duration);

 private:
  int32_t tokens_within(double target_s) const;
  void separate_fixed_part();

  double target_s_;
  double lone_target_s_;
  int32_t step_tokens_max_;

  // Moving moments over the steps that had prompt tokens.
  bool knows_ = false;
  double tokens_mean_ = 0;
  double duration_mean_s_ = 0;
  double tokens_variance_ = 0;
  double covariance_ = 0;   // of tokens and seconds
  double fixed_share_ = 0;  // the fixed part, as a share of the mean duration
};

}  // namespace windrow::engine
