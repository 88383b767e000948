#include "engine/embed/pass_time.h"

#include <algorithm>

namespace windrow::engine {
namespace {

// What a pass still counts when the next one has run: about fifty are remembered.
constexpr double kKept = 0.98;

// Sizes that differ by less than this share of their mean say nothing about a slope.
constexpr double kPassSpreadMin = 0.1;

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

}  // namespace windrow::engine
