// Histogram: counts below fixed bounds, as Prometheus has them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace windrow::api {

// Thread-safe without a lock: what is read while values come in may lack the newest of them, and
// each count is whole.
class Histogram {
 public:
  // `bounds` rise; a value equal to one counts below it.
  explicit Histogram(std::vector<double> bounds);

  // Negative values count as 0, so that the sum only rises.
  void add(double value);

  struct Reading {
    std::vector<double> bounds;
    std::vector<int64_t> counts;  // up to each bound, all below it included; then of all
    double sum = 0;
  };
  Reading read() const;

 private:
  const std::vector<double> bounds_;
  std::unique_ptr<std::atomic<int64_t>[]> counts_;  // of each interval alone
  std::atomic<double> sum_ = 0;
};

}  // namespace windrow::api
