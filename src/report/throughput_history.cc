#include "report/throughput_history.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::report {
namespace {

ThroughputPoint operator+(const ThroughputPoint& one, const ThroughputPoint& other) {
  return {.rows = one.rows + other.rows,
          .prompt_tokens = one.prompt_tokens + other.prompt_tokens,
          .generated_tokens = one.generated_tokens + other.generated_tokens,
          .row_seconds = one.row_seconds + other.row_seconds};
}

ThroughputPoint operator*(const ThroughputPoint& point, double share) {
  return {.rows = point.rows * share,
          .prompt_tokens = point.prompt_tokens * share,
          .generated_tokens = point.generated_tokens * share,
          .row_seconds = point.row_seconds * share};
}

}  // namespace

ThroughputHistory::ThroughputHistory(size_t points_max, Duration point)
    : points_max_(points_max), point_(point) {
  ENSURE(points_max >= 2 && points_max % 2 == 0, "{} points do not pair", points_max);
}

void ThroughputHistory::observe(const ProgressReading& reading) {
  if (!begun_) {
    begun_ = true;
    begin_ = reading.at;
    last_ = reading;
    return;
  }
  const Duration from = last_.at - begin_;
  const Duration to = reading.at - begin_;
  if (to <= from) return;  // its counts belong to the next stretch
  const auto change = [](int64_t before, int64_t now) {
    return static_cast<double>(std::max<int64_t>(0, now - before));
  };
  const llm::BackendStats& before = last_.backend;
  const llm::BackendStats& now = reading.backend;
  const double rows_running = (before.rows_running + now.rows_running) / 2.0;
  add(from, to,
      ThroughputPoint{.rows = change(last_.rows_this_run, reading.rows_this_run),
                      .prompt_tokens = change(before.prompt_tokens, now.prompt_tokens),
                      .generated_tokens = change(before.generated_tokens, now.generated_tokens),
                      .row_seconds = rows_running * seconds(to - from)});
  last_ = reading;
}

// Spreads `amount` evenly over the points from `from` to `to`.
void ThroughputHistory::add(Duration from, Duration to, const ThroughputPoint& amount) {
  while (to > point_ * static_cast<int64_t>(points_max_))
    merge_pairs();
  const double length = seconds(to - from);
  for (Duration at = from; at < to;) {
    const int64_t index = at / point_;
    const Duration end = std::min(to, point_ * (index + 1));
    if (points_.size() <= static_cast<size_t>(index))
      points_.resize(static_cast<size_t>(index) + 1);
    ThroughputPoint& point = points_[static_cast<size_t>(index)];
    point = point + amount * (seconds(end - at) / length);
    at = end;
  }
}

void ThroughputHistory::merge_pairs() {
  point_ *= 2;
  const size_t pairs = (points_.size() + 1) / 2;
  for (size_t i = 0; i < pairs; ++i) {
    const bool paired = 2 * i + 1 < points_.size();
    points_[i] = paired ? points_[2 * i] + points_[2 * i + 1] : points_[2 * i];
  }
  points_.resize(pairs);
}

}  // namespace windrow::report
