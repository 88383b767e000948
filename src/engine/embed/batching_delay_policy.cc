#include "engine/embed/batching_delay_policy.h"

#include <algorithm>

namespace windrow::engine {
namespace {

// Of a new interval in the mean.
constexpr double kLingerWeight = 0.2;

// So many mean intervals without a request say that it is quiet.
constexpr double kQuiet = 4;

// A longer one says that it was quiet; how long is no news, and would be remembered too long.
constexpr double kIntervalMaxS = 0.1;

LingerDecision go(llm::StepReason reason) {
  return {.until = {}, .reason = reason};
}

}  // namespace

void ArrivalTimes::arrived(TimePoint now) {
  if (last_) {
    const double interval_s = std::clamp(seconds(now - *last_), 0.0, kIntervalMaxS);
    mean_s_ = mean_s_ ? *mean_s_ + kLingerWeight * (interval_s - *mean_s_) : interval_s;
  }
  last_ = now;
}

std::optional<TimePoint> ArrivalTimes::expected_until(Duration soon) const {
  if (!mean_s_ || *mean_s_ >= seconds(soon)) return std::nullopt;
  const std::chrono::duration<double> quiet(kQuiet * *mean_s_);
  return *last_ + std::min(soon, std::chrono::duration_cast<Duration>(quiet));
}

LingerDecision decide(TimePoint now, const WaitingBatch& batch, const ArrivalTimes& arrivals,
                      const Lingering& lingering) {
  if (batch.full) return go(llm::StepReason::kFull);
  if (lingering.window > Duration::zero()) {
    const TimePoint until = batch.oldest + lingering.window;
    if (now < until) return {.until = until};
    return go(llm::StepReason::kWindow);
  }
  if (batch.busy) return go(llm::StepReason::kBehind);
  const Duration linger_max =
      std::min({lingering.max_linger, Lingering::kMaxLingerMax, batch.pass_fixed / 2});
  TimePoint until = batch.oldest + linger_max;
  if (batch.arriving <= 0) {
    until =
        std::min(until, arrivals.expected_until(batch.pass_fixed / 4).value_or(TimePoint::min()));
  }
  if (now < until) return {.until = until};
  return go(batch.has_lingered ? llm::StepReason::kLinger : llm::StepReason::kIdle);
}

}  // namespace windrow::engine
