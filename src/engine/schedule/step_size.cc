#include "engine/schedule/step_size.h"

#include <algorithm>
#include <cmath>

namespace windrow::engine {
namespace {

// The first step, when nothing is known; a few steps later it does not matter.
constexpr int32_t kFirstTokens = 512;
constexpr double kFirstTokenS = 0.002;

// Fewer would spend more on passes than on tokens. Steps of this size must still be learned from:
// otherwise one slow step, such as the first while the weights come from the disk, would leave all
// later ones small.
constexpr int32_t kTokensMin = 32;

constexpr double kWeight = 0.2;

// A step is at least so many times as long as its fixed part.
constexpr double kFixedTimes = 3;

// Steps of nearly one size say nothing about the fixed part. What was known is then slowly
// forgotten, which makes steps smaller, until they differ enough to measure it again.
constexpr double kSpreadMin = 0.1;
constexpr double kForgetting = 0.95;

// A line through a few steps is not trusted beyond these.
constexpr double kFixedShareMax = 0.8;
constexpr double kLongerMax = 4;  // times the target

}  // namespace

StepSize::StepSize(Duration target, Duration lone_target, int32_t step_tokens_max)
    : target_s_(seconds(target)),
      lone_target_s_(seconds(std::max(target, lone_target))),
      step_tokens_max_(step_tokens_max) {}

int32_t StepSize::tokens_within(double target_s) const {
  const int32_t tokens_max = knows_ ? step_tokens_max_ : std::min(kFirstTokens, step_tokens_max_);
  const double fixed_s = fixed_share_ * duration_mean_s_;
  const double token_s = knows_ ? (duration_mean_s_ - fixed_s) / tokens_mean_ : kFirstTokenS;
  if (token_s <= 0) return tokens_max;
  const double longest_s = std::clamp(kFixedTimes * fixed_s, target_s, kLongerMax * target_s);
  // The small number makes up for rounding.
  const double tokens_wanted = std::clamp((longest_s - fixed_s) / token_s + 1e-6, 0.0, 1e9);
  return std::clamp(static_cast<int32_t>(tokens_wanted), std::min(kTokensMin, tokens_max),
                    tokens_max);
}

void StepSize::step_took(int32_t prefill_tokens, int32_t decoding_rows, Duration duration) {
  if (prefill_tokens < std::min(kTokensMin, step_tokens_max_)) return;
  const double tokens = prefill_tokens + decoding_rows;
  const double duration_s = seconds(duration);
  if (!knows_ || duration_mean_s_ <= 0) {
    knows_ = true;
    tokens_mean_ = tokens;
    duration_mean_s_ = duration_s;
    return;
  }
  const double tokens_off = tokens - tokens_mean_;
  const double duration_off_s = duration_s - duration_mean_s_;
  tokens_mean_ += kWeight * tokens_off;
  duration_mean_s_ += kWeight * duration_off_s;
  tokens_variance_ = (1 - kWeight) * (tokens_variance_ + kWeight * tokens_off * tokens_off);
  covariance_ = (1 - kWeight) * (covariance_ + kWeight * tokens_off * duration_off_s);
  separate_fixed_part();
}

void StepSize::separate_fixed_part() {
  if (duration_mean_s_ <= 0 || std::sqrt(tokens_variance_) < kSpreadMin * tokens_mean_) {
    fixed_share_ *= kForgetting;
    return;
  }
  const double slope_s = covariance_ / tokens_variance_;
  const double share = 1 - slope_s * tokens_mean_ / duration_mean_s_;
  fixed_share_ = std::clamp(share, 0.0, kFixedShareMax);
}

}  // namespace windrow::engine
