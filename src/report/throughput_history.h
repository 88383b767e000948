// ThroughputHistory: how a run went over time, for a chart. Bounded: when it is full, neighbouring
// points become one of twice the length.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "report/progress.h"

namespace windrow::report {

// What happened in one stretch of time. Counts are shares: what lies across a border is divided.
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

  // Times do not go back. The first reading is where time begins.
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
