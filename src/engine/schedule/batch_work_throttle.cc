#include "engine/schedule/batch_work_throttle.h"

#include <algorithm>

namespace windrow::engine {
namespace {

// Batch rows may add this share to the time that clients have for themselves. (Prompts and slots
// cost clients some more, bench/serve.)
constexpr double kShare = 0.15;

constexpr double kBackgroundWeight = 0.1;

// A step that took very long, for whatever reason, is paid back after some seconds.
constexpr double kDebtMaxS = 1;

// How long batch tokens may take, as multiples of a step of clients alone.
constexpr double kBesideTimes = 1;
constexpr double kBetweenTimes = 3;

// Tried first; with fewer the cost of a token could not be measured.
constexpr int32_t kBackgroundTokensMin = 8;

// After so long without client work none is expected.
constexpr double kExpectedS = 2;

}  // namespace

int32_t BatchWorkThrottle::tokens_within(double times) const {
  if (longer_tokens_ <= 0) return kBackgroundTokensMin;
  const double tokens_wanted = times * *clients_alone_s_ * longer_tokens_;
  if (longer_s_ * INT32_MAX <= tokens_wanted) return INT32_MAX;
  return std::max(kBackgroundTokensMin, static_cast<int32_t>(tokens_wanted / longer_s_));
}

BackgroundTokens BatchWorkThrottle::tokens() const {
  if (!clients_alone_s_) return {.beside_clients_max = 0};
  BackgroundTokens tokens{.beside_clients_max = debt_s_ > 0 ? 0 : tokens_within(kBesideTimes)};
  if (without_clients_s_ < kExpectedS) tokens.between_clients_max = tokens_within(kBetweenTimes);
  return tokens;
}

void BatchWorkThrottle::step_took(const Step& step) {
  const double duration_s = seconds(step.duration);
  if (!step.clients_wait) {
    debt_s_ = std::max(debt_s_ - duration_s, 0.0);
    without_clients_s_ += duration_s;
    return;
  }
  without_clients_s_ = 0;
  if (step.background_tokens == 0) {
    debt_s_ = std::max(debt_s_ - kShare * duration_s, 0.0);
    if (step.clients_prefill && clients_alone_s_) return;
    if (!clients_alone_s_) clients_alone_s_ = duration_s;
    *clients_alone_s_ += kBackgroundWeight * (duration_s - *clients_alone_s_);
    return;
  }
  if (!clients_alone_s_) return;
  const double tokens = step.background_tokens;
  double longer_s = duration_s;
  if (step.clients_prefill) {
    // How much of it their own prompts took is unknown; batch tokens count what they took before.
    const double token_s = longer_tokens_ > 0 ? longer_s_ / longer_tokens_ : duration_s;
    longer_s = std::min(duration_s, token_s * tokens);
  } else {
    if (step.clients_decode) longer_s = std::max(duration_s - *clients_alone_s_, 0.0);
    longer_s_ += longer_s - kBackgroundWeight * longer_s_;
    longer_tokens_ += tokens - kBackgroundWeight * longer_tokens_;
  }
  debt_s_ = std::min(debt_s_ + longer_s, kDebtMaxS);
}

}  // namespace windrow::engine
