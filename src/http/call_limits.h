// The limits of a client's call, and which of them ends it next. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace windrow::http {

// A duration of 0 is no limit.
struct Limits {
  Duration connect = std::chrono::seconds(10);  // from send() until there is a connection
  // Without a byte in either direction, once there is a connection. None by default: a server may
  // work for minutes before its first byte.
  Duration idle{};
  Duration total{};  // from send() to the end of the reply
  // Bytes of the decompressed body, also when on_data takes them.
  size_t reply_bytes_max = size_t{256} << 20;

  // Where on_data takes them: this in place of reply_bytes_max, which then is for the bodies that
  // are collected all the same.
  std::optional<size_t> taken_bytes_max = {};
};

// The limit for the status line and all header fields of every reply.
constexpr size_t kReplyHeadBytesMax = size_t{256} << 10;

enum class LimitKind : uint8_t { kConnect, kIdle, kTotal };

struct CallTimes {
  TimePoint start;
  TimePoint progress;      // of the last byte, or of the connection
  bool connected = false;  // the TLS handshake included

  // Since when the reply is paused, for want of memory or by its taker: not the server's fault.
  std::optional<TimePoint> paused = {};
};

// The reply goes on: the time of the pause counts for no limit.
inline void resume_times(CallTimes& times, TimePoint now) {
  if (!times.paused) return;
  times.start += now - *times.paused;
  times.progress = now;
  times.paused.reset();
}

struct DueLimit {
  TimePoint at = TimePoint::max();  // max: never
  LimitKind kind = LimitKind::kTotal;
};

// The limit that ends the call if nothing more happens.
inline DueLimit due_limit(const Limits& limits, const CallTimes& times) {
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

}  // namespace windrow::http
