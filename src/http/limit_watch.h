// LimitWatch: when a client next has to look at the limits of its calls. Calls end sooner than
// their limits, as a rule, so nothing is kept in order: the client looks at all of them when the
// first could be over, and at most a hundred times a second. On the loop's thread only.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "http/limits.h"
#include "http/loop.h"

namespace windrow::http {

class LimitWatch {
 public:
  // Ends the calls that are over at `now`; returns when the first of the others will be.
  using Check = std::function<TimePoint(TimePoint now)>;

  LimitWatch(Loop& loop, Check check) : loop_(loop), check_(std::move(check)), timer_(loop) {}

  // A call began, or got a limit that may be due sooner.
  void consider(const Limits& limits, const CallTimes& times) {
    const TimePoint due = due_limit(limits, times).at;
    if (due < armed_) arm(due);
  }

 private:
  void arm(TimePoint at) {
    armed_ = at;
    timer_.wake_at(at, [this] {
      armed_ = TimePoint::max();
      const TimePoint now = loop_.clock().now();
      const TimePoint next = check_(now);
      // A call that began in the meantime may have armed it for a sooner time.
      if (next < armed_) arm(std::max(next, now + std::chrono::milliseconds(10)));
    });
  }

  Loop& loop_;
  const Check check_;
  Timer timer_;
  TimePoint armed_ = TimePoint::max();
};

}  // namespace windrow::http
