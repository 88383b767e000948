#include "engine/embed/batching_delay_policy.h"

#include <algorithm>

namespace windrow::engine {
namespace {

// A pass still counts so much when the next one has run: about fifty are remembered.
constexpr double kKept = 0.98;

// Sizes that differ by less than this share of their mean say nothing about a slope.
constexpr double kPassSpreadMin = 0.1;

// The weight of a new interval in the mean.
constexpr double kIntervalWeight = 0.2;

// After so many mean intervals without a request none is expected soon.
constexpr double kQuiet = 4;

// Longer intervals count as this long: how long it was quiet would be remembered for too long.
constexpr double kIntervalMaxS = 0.1;

DelayDecision go(llm::StepReason reason) {
  return {.until = {}, .reason = reason};
}

}  // namespace

void PassTime::took(int32_t tokens, Duration duration) {
  const double x = tokens;
  const double y = seconds(duration);
  weight_ = weight_ * kKept + 1;
  tokens_ = tokens_ * kKept + x;
  tokens_squared_ = tokens_squared_ * kKept + x * x;
  seconds_ = seconds_ * kKept + y;
  tokens_seconds_ = tokens_seconds_ * kKept + x * y;
}

std::optional<PassTime::Line> PassTime::line() const {
  if (weight_ == 0 || tokens_ <= 0) return std::nullopt;
  const double mean = tokens_ / weight_;
  const double mean_s = seconds_ / weight_;
  const double variance = tokens_squared_ / weight_ - mean * mean;
  const Line through_zero{.token_s = mean_s / mean};
  if (variance < kPassSpreadMin * kPassSpreadMin * mean * mean) return through_zero;
  const double token_s = (tokens_seconds_ / weight_ - mean * mean_s) / variance;
  if (token_s <= 0) return Line{.fixed_s = mean_s};
  const double fixed_s = mean_s - token_s * mean;
  return fixed_s < 0 ? through_zero : Line{.fixed_s = fixed_s, .token_s = token_s};
}

Duration PassTime::fixed() const {
  const std::optional<Line> known = line();
  if (!known) return {};
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(known->fixed_s));
}

int32_t PassTime::tokens_within(Duration duration, int32_t tokens_max, int32_t otherwise) const {
  const std::optional<Line> known = line();
  if (!known) return std::clamp(otherwise, 1, tokens_max);
  const double left_s = seconds(duration) - known->fixed_s;
  if (left_s <= 0) return 1;
  const double tokens = known->token_s > 0 ? left_s / known->token_s : 1e9;
  return static_cast<int32_t>(std::clamp(tokens, 1.0, static_cast<double>(tokens_max)));
}

void ArrivalTimes::arrived(TimePoint now) {
  if (last_) {
    const double interval_s = std::clamp(seconds(now - *last_), 0.0, kIntervalMaxS);
    mean_s_ = mean_s_ ? *mean_s_ + kIntervalWeight * (interval_s - *mean_s_) : interval_s;
  }
  last_ = now;
}

std::optional<TimePoint> ArrivalTimes::expected_until(Duration soon) const {
  if (!mean_s_ || *mean_s_ >= seconds(soon)) return std::nullopt;
  const std::chrono::duration<double> quiet(kQuiet * *mean_s_);
  return *last_ + std::min(soon, std::chrono::duration_cast<Duration>(quiet));
}

DelayDecision decide(TimePoint now, const WaitingBatch& batch, const ArrivalTimes& arrivals,
                     const BatchingDelay& delay) {
  if (batch.full) return go(llm::StepReason::kFull);
  if (delay.window > Duration::zero()) {
    const TimePoint until = batch.oldest + delay.window;
    if (now < until) return {.until = until};
    return go(llm::StepReason::kWindow);
  }
  if (batch.busy) return go(llm::StepReason::kBehind);
  const Duration linger_max =
      std::min({delay.max_linger, BatchingDelay::kMaxLingerMax, batch.pass_fixed / 2});
  TimePoint until = batch.oldest + linger_max;
  if (batch.arriving <= 0) {
    until =
        std::min(until, arrivals.expected_until(batch.pass_fixed / 4).value_or(TimePoint::min()));
  }
  if (now < until) return {.until = until};
  return go(batch.has_waited ? llm::StepReason::kLinger : llm::StepReason::kIdle);
}

}  // namespace windrow::engine
