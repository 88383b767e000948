// Throughput: how much work an upstream finishes per second, by how many requests it has in flight.
// ConcurrencyLimit decides by it. Pure; used by one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/clock.h"

namespace windrow::dispatch {

// Work finished per second by a server that was kept at one load, from as few requests as possible.
//
// It knows two ways and believes the surer one:
//   by latency   Little's law (Little, 1961): with n requests in it a server finishes
//                n * (sum of work) / (sum of latency) per second. A long request has much of both,
//                so the ratio varies far less than either, as long as none waits for another.
//   by counting  what ended, over the time it took. Varies with what was unfinished at both ends of
//                that time: little, when few are worked on and the others wait.
// It also tells the two cases apart: latency that does not come with work is waiting.
class ThroughputEstimate {
 public:
  // A request was answered, whenever it was sent. The first one begins the time that is counted.
  void count(TimePoint ended, double work);
  bool counting() const { return counting_; }

  // The load is interrupted: the time until the next count() is not counted.
  void interrupt();

  // A request that was sent and answered under the load: how many were in flight when it was sent,
  // itself included, its work in any unit, and how long it took.
  void add(int32_t in_flight, double work, Duration latency);

  // Of add().
  int64_t answers() const { return answers_; }

  // 0 while nothing is known.
  double work_per_s() const { return by_counting_is_surer() ? by_counting() : by_latency(); }

  // The standard error of work_per_s as a part of it; 1 while too little is known.
  double relative_error() const;

  // How long one unit of work takes a request, waiting included.
  double seconds_per_work() const { return work_ > 0 ? seconds_ / work_ : 0; }
  double latency_mean_s() const { return mean(seconds_); }
  double in_flight_mean() const { return mean(in_flight_); }

  // How many requests were worked on at a time while the others waited. All, while too little is
  // known.
  double busy() const;

 private:
  double mean(double sum) const { return answers_ > 0 ? sum / static_cast<double>(answers_) : 0; }
  double by_latency() const { return seconds_ > 0 ? load_ / seconds_ : 0; }
  double by_counting() const;
  double error_by_latency() const;
  double error_by_counting() const;
  bool by_counting_is_surer() const { return error_by_counting() < error_by_latency(); }
  double work_variance() const;  // as a part of the squared mean

  int64_t answers_ = 0;
  double in_flight_ = 0;
  double load_ = 0;  // in flight * work
  double work_ = 0;
  double seconds_ = 0;
  double load_squared_ = 0;
  double seconds_squared_ = 0;
  double work_squared_ = 0;
  double load_seconds_ = 0;
  double work_seconds_ = 0;

  int64_t counted_ = 0;  // without the first of each stretch of time
  double counted_work_ = 0;
  Duration counted_before_{};  // stretches before this one
  bool counting_ = false;
  TimePoint counted_from_{};
  TimePoint counted_to_{};
};

// What was measured of one upstream at each number of requests in flight.
//
// Early answers, from the time when the number in flight still doubles, are kept by octave: octave
// k has 2^(k-1) + 1 to 2^k in flight.
class ThroughputCurve {
 public:
  struct Point {
    double work_per_s = 0;
    double seconds_per_work = 0;
    double latency_s = 0;
    double busy = 0;  // requests that were worked on at a time
  };

  // --- early answers ---

  // False: so many in flight are beyond every octave, and the answer is not kept.
  bool add_early(int32_t in_flight, double work, Duration latency);

  struct Early {
    int32_t in_flight = 0;  // the end of the highest octave of which enough is known
    bool gains = true;      // over the next such one below; true where there is none
  };
  std::optional<Early> early() const;

  // Whether `in_flight` is in the octave that ends at `end`, or in a lower one.
  static bool is_within(int32_t in_flight, int32_t end);

  // The estimate of the lowest octave of which anything is known.
  const ThroughputEstimate* alone() const;

  // The highest octave with a few answers.
  const ThroughputEstimate* highest_early() const;

  void forget_early() { octaves_ = {}; }

  // --- measured numbers ---

  void set(int32_t in_flight, const ThroughputEstimate& estimate);

  // nullptr: it was not measured.
  const Point* at(int32_t in_flight) const;

  // Nothing measured before is true any more.
  void forget() {
    measured_.clear();
    forget_early();
  }

  // --- what follows ---

  // Requests that are worked on under this load, as far as latencies tell.
  double busy(const ThroughputEstimate& estimate) const;

  // Whether so many in flight would finish about `peak` work per second if none waited for another.
  bool can_keep_up(int32_t in_flight, double peak) const;

  // Whether the upstream answers one request at a time, where `best` in flight are the fewest that
  // finish as much as any number does.
  bool is_serial(int32_t best) const;

 private:
  static constexpr size_t kOctaves = 24;

  std::array<ThroughputEstimate, kOctaves> octaves_;
  std::map<int32_t, Point> measured_;
};

}  // namespace windrow::dispatch
