#include "engine/step_size.h"

#include <algorithm>

namespace windrow::engine {
namespace {

// What a first step takes, when nothing is known; it settles within a few steps.
constexpr int32_t kFirstTokens = 512;
constexpr double kFirstTokenS = 0.002;

// Less would spend more on passes than on tokens, and teach nothing about tokens. The smallest
// chunk must teach: else one slow step, such as the first while the weights come from the disk,
// would leave all later ones small.
constexpr int32_t kTokensMin = 32;

constexpr double kWeight = 0.3;

}  // namespace

StepSize::StepSize(Duration target, Duration lone_target, int32_t step_tokens_max)
    : target_s_(seconds(target)),
      lone_target_s_(seconds(std::max(target, lone_target))),
      step_tokens_max_(step_tokens_max) {}

int32_t StepSize::tokens_within(double target_s) const {
  const double token_s = token_s_.value_or(kFirstTokenS);
  const int32_t tokens_max = token_s_ ? step_tokens_max_ : std::min(kFirstTokens, step_tokens_max_);
  if (token_s <= 0) return tokens_max;
  const double tokens_wanted = std::min(target_s / token_s, 1e9);
  return std::clamp(static_cast<int32_t>(tokens_wanted), std::min(kTokensMin, tokens_max),
                    tokens_max);
}

void StepSize::step_took(int32_t prefill_tokens, int32_t decoding_rows, Duration duration) {
  if (prefill_tokens < std::min(kTokensMin, step_tokens_max_)) return;
  const double token_s = seconds(duration) / (prefill_tokens + decoding_rows);
  token_s_ = token_s_.value_or(0) <= 0 ? token_s : *token_s_ + kWeight * (token_s - *token_s_);
}

}  // namespace windrow::engine
