// Quota: requests and tokens per minute that several upstreams or rows may share, and pauses that
// hold for all of them. Pure.
//
// There are two kinds of pause. A refusal that names a time (`Retry-After`) is the server's word,
// and nothing goes out until then; afterwards all goes on as before. An overload pauses until the
// time its refusal names, or for a growing time where it names none, and is then probed.
//
// Invariants:
//   in no 60 seconds more requests go out than `requests_per_minute`, nor more tokens, as far as
//     they are known when they go out, than `tokens_per_minute`; but a request above the token
//     limit passes alone, for it would wait for ever;
//   after an overload's pause one request goes out and the others wait for its end (a circuit
//     breaker's half open state, Nygard, Release It!): a crowd that comes back at once would be
//     refused at once.
//
// Requests are spread over the minute besides, with room for `kBurst` of them at a time: servers
// refuse a minute's worth that comes in its first second.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "base/random.h"

namespace windrow::dispatch {

struct QuotaOptions {
  int64_t requests_per_minute = 0;  // 0: no limit
  int64_t tokens_per_minute = 0;
  Duration cooldown_base = std::chrono::seconds(1);  // where an overload names no time
  Duration cooldown_max = std::chrono::minutes(2);
};

class Quota {
 public:
  // What a request took; given back with what it really cost.
  struct Grant {
    TimePoint at{};
    int64_t tokens = 0;
    bool probe = false;
  };

  enum class End : uint8_t {
    kAnswered,
    kRefused,     // this one request; all wait only where `retry_after` says so
    kOverloaded,  // refused, and it was noticed that the upstream has too much to do
    kOther,
  };

  explicit Quota(QuotaOptions options = {}) : options_(options) {}

  // When a request of so many tokens may go out: `now`, or later. Nothing: when one that is out has
  // ended.
  std::optional<TimePoint> ready_at(TimePoint now, int64_t tokens) const;

  // Only when it is ready.
  Grant take(TimePoint now, int64_t tokens);

  // `tokens` is what it cost; a refused one costs none. `retry_after` as the refusal says.
  void ended(TimePoint now, const Grant& grant, End end, int64_t tokens,
             std::optional<Duration> retry_after, Random& random);

  // Of a pause that is not over yet.
  std::optional<TimePoint> cooling_until(TimePoint now) const;

 private:
  // What went out in a tenth of a second; it counts for a minute after its end.
  struct Slice {
    TimePoint from;
    int64_t requests = 0;
    int64_t tokens = 0;
  };

  TimePoint room_at(TimePoint now, int64_t tokens) const;

  const QuotaOptions options_;
  std::deque<Slice> slices_;
  TimePoint spread_requests_{};  // when all that went out would be spread evenly
  TimePoint spread_tokens_{};
  TimePoint cool_until_{};
  int32_t overloads_ = 0;  // overloads since the last answer
  bool half_open_ = false;
  bool probing_ = false;
};

}  // namespace windrow::dispatch
