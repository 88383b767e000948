// ThroughputEstimate: work finished per second by a server that was kept at one load, from as few
// requests as possible. Pure.
//
// It knows two ways and believes the surer one:
//   by latency   Little's law (Little, 1961): with n requests in it a server finishes
//                n * (sum of work) / (sum of latency) per second. A long request has much of both,
//                so the ratio varies far less than either, as long as none waits for another.
//   by counting  what ended, over the time it took. Varies with what was unfinished at both ends of
//                that time: little, when few are worked on and the others wait.
// It also tells the two cases apart: latency that does not come with work is waiting.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace windrow::dispatch {

class ThroughputEstimate {
 public:
  // A request was answered, whenever it was sent. The first one begins the time that is counted.
  void count(TimePoint ended, double work);
  bool counting() const { return counting_; }

  // The load is interrupted: the time until the next count() is not counted.
  void interrupt();

  // One that was sent and answered under the load: how many were in flight with it (itself
  // included) when it was sent, its work in any unit, and how long it took.
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

  // How many requests were worked on at a time; the others waited. All, while nothing says else.
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

}  // namespace windrow::dispatch
