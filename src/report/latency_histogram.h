// LatencyHistogram: times in milliseconds, counted in classes whose width is a sixteenth of their
// power of two (as HdrHistogram has them), so that any number of times takes 8 KB and every
// quantile is right within 1/16.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace windrow::report {

// Used by one thread.
class LatencyHistogram {
 public:
  void add(int64_t ms);  // a negative time counts as 0

  int64_t count() const { return count_; }
  int64_t min_ms() const { return count_ == 0 ? 0 : min_ms_; }
  int64_t max_ms() const { return max_ms_; }

  // The least time of a class up to which this part of the times lies, and at most max_ms. 0 when
  // nothing was added.
  int64_t quantile_ms(double part) const;

  // One bar of a drawing: times from from_ms to before to_ms.
  struct Bar {
    int64_t from_ms = 0;
    int64_t to_ms = 0;
    int64_t count = 0;
  };

  // From the least time to the greatest without a gap; classes are joined until there are at most
  // `bars_max`. Empty when nothing was added.
  std::vector<Bar> bars(size_t bars_max) const;

 private:
  static constexpr size_t kSteps = 16;  // classes for a power of two
  static constexpr size_t kClasses = (64 - 4) * kSteps;

  static size_t class_of(int64_t ms);
  static int64_t begin_of(size_t index);

  std::array<int64_t, kClasses> counts_ = {};
  int64_t count_ = 0;
  int64_t min_ms_ = 0;
  int64_t max_ms_ = 0;
};

// "85 ms", "1.25 s", "3 min 20 s".
std::string latency_text(int64_t ms);

// One line a bar, its time, its length and its count, in plain characters and no wider than `width`
// (at least 40 are used). Empty when nothing was added.
std::string histogram_text(const LatencyHistogram& histogram, size_t width);

}  // namespace windrow::report
