#include "http/call_limits.h"

namespace windrow::http {

DueLimit due_limit(const Limits& limits, const CallTimes& times) {
  DueLimit due;
  if (times.paused) return due;
  const auto consider = [&](TimePoint since, Duration limit, LimitKind kind) {
    // Also false where the sum would lie beyond the end of time.
    if (limit <= Duration::zero() || limit >= due.at - since) return;
    due = {since + limit, kind};
  };
  consider(times.start, limits.total, LimitKind::kTotal);
  if (times.connected) {
    consider(times.progress, limits.idle, LimitKind::kIdle);
  } else {
    consider(times.start, limits.connect, LimitKind::kConnect);
  }
  return due;
}

void resume_times(CallTimes& times, TimePoint now) {
  if (!times.paused) return;
  times.start += now - *times.paused;
  times.progress = now;
  times.paused.reset();
}

}  // namespace windrow::http
