// Limits that a server sets its clients: how long a connection may be idle, how slowly a body may
// arrive, how long a closed connection is still read, and how much memory unsent answers may take.
// Pure; on the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"

namespace windrow::http {

// --- idle connections ---------------------------------------------------------------------------

// The idle time that a full server allows.
constexpr Duration kCrowdedIdle = std::chrono::seconds(1);

// How long a connection may be idle with `connections` open. A full server accepts no one, so idle
// clients must not stay for long then: up to three quarters of `connections_max` they may stay for
// `idle_time`, above that for less and less, and when the server is full for kCrowdedIdle. A flood
// of silent clients therefore keeps others waiting for about a second, and has to come back again
// and again.
inline Duration idle_allowed(Duration idle_time, size_t connections, size_t connections_max) {
  const size_t crowded = connections_max - connections_max / 4;
  if (connections < crowded || idle_time <= kCrowdedIdle) return idle_time;
  if (connections >= connections_max) return kCrowdedIdle;
  const auto free = static_cast<double>(connections_max - connections);
  const auto quarter = static_cast<double>(connections_max - crowded);
  const auto more = static_cast<double>((idle_time - kCrowdedIdle).count());
  return kCrowdedIdle + Duration(static_cast<int64_t>(more * free / quarter));
}

// --- slow bodies --------------------------------------------------------------------------------

// A body that is read in pieces may have any length, so the time for all of it has no bound that
// could be given in advance: it goes on as long as bytes arrive at this rate. A client that sends a
// byte now and then keeps its connection little longer than a silent one.
constexpr uint64_t kSlowestBodyPerS = 8 * 1024;

// How long the client of a body in pieces has kept the handler waiting. Time that the handler takes
// does not count.
class BodyPatience {
 public:
  // The handler waits for a piece from now on.
  void wait_begins(TimePoint now) {
    waited_since_ = now;
    waiting_ = true;
  }

  // The piece has arrived.
  void came(TimePoint now, uint64_t bytes) {
    waited_ += now - waited_since_;
    bytes_ += bytes;
    waiting_ = false;
  }

  // Whether one pause has lasted longer than `request_time`, or all of them together longer than
  // that and the time that the bytes may take at kSlowestBodyPerS.
  bool is_over(TimePoint now, Duration request_time) const {
    if (!waiting_) return false;
    const Duration pause = now - waited_since_;
    return pause > request_time ||
           waited_ + pause > request_time + std::chrono::seconds(bytes_ / kSlowestBodyPerS);
  }

 private:
  TimePoint waited_since_;
  Duration waited_{};
  uint64_t bytes_ = 0;
  bool waiting_ = false;
};

// --- lingering close ----------------------------------------------------------------------------

// A connection that ends is still read for a while (lingering close, RFC 9112, 9.6): closed at
// once, the system would answer bytes that the client is still sending with a reset, and the client
// would lose the last answer unread.
class LingeringClose {
 public:
  // How long a client may take to notice that the connection is over.
  static constexpr Duration kPause = std::chrono::seconds(2);

  bool begun() const { return begun_; }

  // All answers are sent, and the client was told that nothing follows.
  void begin(TimePoint now) {
    begun_ = true;
    since_ = heard_at_ = now;
  }

  // The client sent more.
  void heard(TimePoint now) { heard_at_ = now; }

  // Whether it has been silent for kPause, or has sent for longer than `time_max`.
  bool is_over(TimePoint now, Duration time_max) const {
    return now - heard_at_ > kPause || now - since_ > time_max;
  }

 private:
  bool begun_ = false;
  TimePoint since_;
  TimePoint heard_at_;
};

// --- unsent answers -----------------------------------------------------------------------------

// A client that has taken nothing for so long may be dropped to make room for others.
constexpr Duration kSlowReaderTime = std::chrono::seconds(1);

// A connection may hold this much without asking for room: an error can always be answered, and
// streams that wait for their readers go on.
constexpr size_t kUnsentUnasked = size_t{256} * 1024;

// Memory for answers that clients have not taken yet, of all connections of a server together.
class UnsentBudget {
 public:
  explicit UnsentBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Adds to what is held; negative: takes off.
  void count(int64_t bytes) { bytes_ += static_cast<size_t>(bytes); }

  bool has_room(size_t bytes) const {
    return bytes <= bytes_max_ - (is_full() ? bytes_max_ : bytes_);
  }
  bool is_full() const { return bytes_ >= bytes_max_; }
  size_t bytes() const { return bytes_; }

 private:
  const size_t bytes_max_;
  size_t bytes_ = 0;
};

// What one connection holds.
struct UnsentOf {
  size_t bytes = 0;
  Duration quiet{};  // since its client took something
};

// The index of the connection to drop: the one that holds most among connections whose clients take
// nothing. nullopt: there is none.
inline std::optional<size_t> slowest_reader(std::span<const UnsentOf> connections) {
  std::optional<size_t> found;
  for (size_t i = 0; i < connections.size(); ++i) {
    const UnsentOf& one = connections[i];
    if (one.bytes == 0 || one.quiet < kSlowReaderTime) continue;
    if (!found || one.bytes > connections[*found].bytes) found = i;
  }
  return found;
}

}  // namespace windrow::http
