#include "dispatch/throughput.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace windrow::dispatch {
namespace {

constexpr int64_t kSlopeAnswersMin = 8;
constexpr double kSlopeVarianceMin = 0.01;

// Requests of equal work also leave something unfinished at both ends of a time.
constexpr double kEndsVariance = 0.1;

// A doubling while the number still grows is worth another when it brought this. What is measured
// then is rough, and too much only waits.
constexpr double kEarlyGain = 1.15;
constexpr int64_t kAloneAnswers = 3;
constexpr double kFewMargin = 1.2;  // for a pace that fewer answers say

// So many in flight keep up when they finish this part of the peak.
constexpr double kKeepsUp = 0.98;

// So few are worked on at a time, of no more than so many, that it is one; and with n in flight
// each takes at least this part of n times as long as alone.
constexpr double kSerialBusy = 1.3;
constexpr int32_t kSerialMax = 8;
constexpr double kSerialSlowdown = 0.75;

size_t octave_of(int32_t in_flight) {
  return static_cast<size_t>(std::bit_width(static_cast<uint32_t>(std::max(in_flight, 1) - 1)));
}

int32_t octave_end(size_t octave) {
  return int32_t{1} << octave;
}

bool enough_for_octave(const ThroughputEstimate& estimate, size_t octave) {
  return estimate.answers() >= std::max<int64_t>(3, octave_end(octave) / 4);
}

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

// --- the curve ----------------------------------------------------------------------------------

bool ThroughputCurve::add_early(int32_t in_flight, double work, Duration latency) {
  const size_t octave = octave_of(in_flight);
  if (octave >= kOctaves) return false;
  octaves_[octave].add(in_flight, work, latency);
  return true;
}

std::optional<ThroughputCurve::Early> ThroughputCurve::early() const {
  std::optional<size_t> high;
  std::optional<size_t> low;
  for (size_t i = kOctaves; i-- > 0 && !low;) {
    if (!enough_for_octave(octaves_[i], i)) continue;
    (high ? low : high) = i;
  }
  if (!high) return std::nullopt;
  if (!low) return Early{.in_flight = octave_end(*high)};
  double gain = 1;
  for (size_t i = *low; i < *high; ++i)
    gain *= kEarlyGain;
  return Early{.in_flight = octave_end(*high),
               .gains = octaves_[*high].work_per_s() >= gain * octaves_[*low].work_per_s()};
}

bool ThroughputCurve::is_within(int32_t in_flight, int32_t end) {
  return octave_of(in_flight) <= octave_of(end);
}

const ThroughputEstimate* ThroughputCurve::alone() const {
  const auto* found =
      std::ranges::find_if(octaves_, [](const auto& of) { return of.answers() > 0; });
  return found == octaves_.end() ? nullptr : found;
}

const ThroughputEstimate* ThroughputCurve::highest_early() const {
  const ThroughputEstimate* highest = nullptr;
  for (const ThroughputEstimate& octave : octaves_) {
    if (octave.answers() >= kAloneAnswers) highest = &octave;
  }
  return highest;
}

void ThroughputCurve::set(int32_t in_flight, const ThroughputEstimate& estimate) {
  measured_[in_flight] = {.work_per_s = estimate.work_per_s(),
                          .seconds_per_work = estimate.seconds_per_work(),
                          .latency_s = estimate.latency_mean_s(),
                          .busy = busy(estimate)};
}

const ThroughputCurve::Point* ThroughputCurve::at(int32_t in_flight) const {
  const auto found = measured_.find(in_flight);
  return found == measured_.end() ? nullptr : &found->second;
}

// Two hints, and the higher one counts: how much of the latency comes with work, and how much
// slower than almost alone a request is. The first takes a fixed part of every answer for waiting,
// the second takes batching for waiting.
double ThroughputCurve::busy(const ThroughputEstimate& estimate) const {
  const ThroughputEstimate* few = alone();
  const double all = estimate.in_flight_mean();
  if (few == nullptr || estimate.seconds_per_work() <= 0) return all;
  const double slowed = few->seconds_per_work() / estimate.seconds_per_work();
  return std::max(estimate.busy(), std::min(all * slowed, all));
}

// A request is never answered faster beside more others, so the slowest pace of any smaller number
// is a bound.
bool ThroughputCurve::can_keep_up(int32_t in_flight, double peak) const {
  double seconds_per_work = 0;
  for (size_t i = 0; i < kOctaves && octave_end(i) <= in_flight; ++i) {
    const double margin = octaves_[i].answers() >= kAloneAnswers ? 1 : kFewMargin;
    seconds_per_work = std::max(seconds_per_work, octaves_[i].seconds_per_work() / margin);
  }
  for (const auto& [number, point] : measured_) {
    if (number > in_flight) break;
    seconds_per_work = std::max(seconds_per_work, point.seconds_per_work);
  }
  return in_flight >= kKeepsUp * peak * seconds_per_work;
}

bool ThroughputCurve::is_serial(int32_t best) const {
  const Point* here = at(best);
  if (best > 1 && best <= kSerialMax && here != nullptr && here->busy < kSerialBusy) return true;
  // Two in flight may hide the way there and back and still be answered one after the other.
  const Point* one = at(1);
  if (best > 2 || one == nullptr) return false;
  return std::ranges::any_of(measured_, [&](const auto& entry) {
    const auto& [number, point] = entry;
    return number > 1 && point.seconds_per_work >= kSerialSlowdown * number * one->seconds_per_work;
  });
}

}  // namespace windrow::dispatch
