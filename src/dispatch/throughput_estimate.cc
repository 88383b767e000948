#include "dispatch/throughput_estimate.h"

#include <algorithm>
#include <cmath>

namespace windrow::dispatch {
namespace {

constexpr int64_t kSlopeAnswersMin = 8;
constexpr double kSlopeVarianceMin = 0.01;

// Requests of equal work also leave something unfinished at both ends of a time.
constexpr double kEndsVariance = 0.1;

}  // namespace

void ThroughputEstimate::count(TimePoint ended, double work) {
  counted_to_ = ended;
  if (!counting_) {
    counting_ = true;
    counted_from_ = ended;
    return;
  }
  ++counted_;
  counted_work_ += work;
}

void ThroughputEstimate::interrupt() {
  if (counting_) counted_before_ += counted_to_ - counted_from_;
  counting_ = false;
  counted_from_ = counted_to_;
}

void ThroughputEstimate::add(int32_t in_flight, double work, Duration latency) {
  // A reply within one reading of the clock still took some time.
  const double latency_s = std::max(seconds(latency), 1e-9);
  const double load = in_flight * work;
  ++answers_;
  in_flight_ += in_flight;
  load_ += load;
  work_ += work;
  seconds_ += latency_s;
  load_squared_ += load * load;
  seconds_squared_ += latency_s * latency_s;
  work_squared_ += work * work;
  load_seconds_ += load * latency_s;
  work_seconds_ += work * latency_s;
}

double ThroughputEstimate::work_variance() const {
  const double work = mean(work_);
  return work > 0 ? std::max(mean(work_squared_) / (work * work) - 1, 0.0) : 0;
}

double ThroughputEstimate::by_counting() const {
  const double counted_s = seconds(counted_before_ + (counted_to_ - counted_from_));
  return counted_s > 0 ? counted_work_ / counted_s : 0;
}

double ThroughputEstimate::error_by_latency() const {
  if (answers_ < 3 || load_ <= 0) return 1;
  // The residuals load - rate * latency of a ratio estimator (Cochran, Sampling Techniques, 6).
  const double rate = by_latency();
  const double squares = load_squared_ - 2 * rate * load_seconds_ + rate * rate * seconds_squared_;
  return std::sqrt(std::max(squares, 0.0)) / load_;
}

double ThroughputEstimate::error_by_counting() const {
  if (counted_ < 3 || by_counting() <= 0) return 1;
  const double unfinished = 2 * busy() * (work_variance() + kEndsVariance);
  return std::min(std::sqrt(unfinished) / static_cast<double>(counted_), 1.0);
}

double ThroughputEstimate::relative_error() const {
  return std::min(error_by_counting(), error_by_latency());
}

double ThroughputEstimate::busy() const {
  const double in_flight = mean(in_flight_);
  if (answers_ < kSlopeAnswersMin || work_variance() < kSlopeVarianceMin) return in_flight;
  // The slope of latency over work is the time that work takes; the rest is waiting.
  const double work = mean(work_);
  const double slope =
      (mean(work_seconds_) - work * latency_mean_s()) / (work * work * work_variance());
  return in_flight * std::clamp(slope * work / latency_mean_s(), 0.0, 1.0);
}

}  // namespace windrow::dispatch
