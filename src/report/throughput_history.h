// ThroughputHistory: the throughput of a run over time, for a chart. Bounded: when it is full,
// pairs of points are merged into points of twice the length.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "report/progress.h"

namespace windrow::report {

// Sums over one interval. An amount that spans several intervals is divided among them.
struct ThroughputPoint {
  double rows = 0;
  double prompt_tokens = 0;
  double generated_tokens = 0;
  double row_seconds = 0;  // rows in the batch x seconds; divided by the length: their mean
};

// Used by one thread.
class ThroughputHistory {
 public:
  // Points are merged when there are `points_max` of them; even, at least 2.
  explicit ThroughputHistory(size_t points_max = 2000, Duration point = std::chrono::seconds(1));

  // Readings come in the order of time; the first one is the beginning.
  void observe(const ProgressReading& reading);

  // Each `point_length()` long but the last, which ends at `length()`.
  const std::vector<ThroughputPoint>& points() const { return points_; }
  Duration point_length() const { return point_; }
  Duration length() const { return last_.at - begin_; }

 private:
  void add(Duration from, Duration to, const ThroughputPoint& amount);
  void merge_pairs();

  const size_t points_max_;
  Duration point_;
  std::vector<ThroughputPoint> points_;
  TimePoint begin_;
  ProgressReading last_;
  bool begun_ = false;
};

}  // namespace windrow::report
