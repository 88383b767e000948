// A clock, and many times of one thing.
#pragma once

#include <algorithm>
#include <boost/json/object.hpp>
#include <chrono>
#include <ctime>
#include <vector>

namespace windrow::bench {

// Whether times, which are in us, are the processor time of this thread: half a microsecond coarse,
// but without the time of other threads and programs.
inline bool in_cpu_time = false;

inline double now() {
  if (in_cpu_time) {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
  }
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(since).count();
}

inline double us_since(double start) {
  return now() - start;
}

// Many times of one thing.
struct Times {
  std::vector<double> us;

  void sort() { std::sort(us.begin(), us.end()); }
  double at(double share) const {  // of sorted ones
    if (us.empty()) return 0;
    const auto last = static_cast<double>(us.size() - 1);
    return us[static_cast<size_t>(share * last)];
  }
  double p50() const { return at(0.5); }
  double p99() const { return at(0.99); }
  double max() const { return at(1); }

  boost::json::object figures() const {
    return {{"count", us.size()}, {"p50_us", p50()}, {"p99_us", p99()}, {"max_us", max()}};
  }
};

}  // namespace windrow::bench
