// What a call may take, and which of its limits ends it next. Pure: values in, a time out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace windrow::http {

// A duration of 0 is no limit.
struct Limits {
  Duration connect = std::chrono::seconds(10);  // from send until there is a connection
  // Without a byte in either direction, once there is a connection. None by default: a server may
  // think for minutes before it says its first word.
  Duration idle{};
  Duration total{};  // from send to the end of the reply
  // Of the body, decompressed; also where on_data takes it.
  size_t reply_bytes_max = size_t{256} << 20;
};

// Of the status line and all header fields; applies to every call.
constexpr size_t kReplyHeadBytesMax = size_t{256} << 10;

enum class LimitKind : uint8_t { kConnect, kIdle, kTotal };

struct CallTimes {
  TimePoint start;
  TimePoint progress;      // the last byte, or getting the connection
  bool connected = false;  // with TLS, where there is TLS

  // Since when its reply waits for room here, which is not the server's time (reply_budget.h).
  std::optional<TimePoint> paused = {};
};

// The reply goes on; the time it waited counts for no limit.
void resume_times(CallTimes& times, TimePoint now);

struct DueLimit {
  TimePoint at = TimePoint::max();  // max: never
  LimitKind kind = LimitKind::kTotal;
};

// The limit that would end the call first if nothing more happened.
DueLimit due_limit(const Limits& limits, const CallTimes& times);

}  // namespace windrow::http
