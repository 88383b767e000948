#include "api/pages/histogram.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::api {

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)),
      counts_(std::make_unique<std::atomic<int64_t>[]>(bounds_.size() + 1)) {
  ENSURE(std::ranges::is_sorted(bounds_), "bounds of a histogram rise");
}

void Histogram::add(double value) {
  value = std::max(value, 0.0);
  const auto interval =
      static_cast<size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
  counts_[interval].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

Histogram::Reading Histogram::read() const {
  Reading reading{.bounds = bounds_, .sum = sum_.load(std::memory_order_relaxed)};
  int64_t below = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    below += counts_[i].load(std::memory_order_relaxed);
    reading.counts.push_back(below);
  }
  return reading;
}

}  // namespace windrow::api
