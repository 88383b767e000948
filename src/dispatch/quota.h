// Quota: requests and tokens per minute that several upstreams may share, and pauses that hold for
// all of them. Pure; used by one thread at a time.
//
// There are two kinds of pause. After a refusal that names a time (`Retry-After`) nothing is sent
// until then, and afterwards all goes on as before. An overload pauses until the time that its
// refusal names, or for a growing time where it names none, and is then probed.
//
// Invariants:
//   in any 60 seconds no more requests are sent than `requests_per_minute`, nor more tokens, as far
//     as they are known when they are sent, than `tokens_per_minute`; a request above the token
//     limit is sent alone, as it would wait forever;
//   after the pause of an overload one request is sent and the others wait for its end (the half
//     open state of a circuit breaker, Nygard, Release It!): all together would be refused at once.
//
// Requests are also spread over the minute, in bursts of `kBurst` at most: servers refuse a
// minute's worth that arrives in one second.
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
  // What a request took from the quota; given back with what it really cost.
  struct Grant {
    TimePoint at{};
    int64_t tokens = 0;
    bool probe = false;
  };

  enum class End : uint8_t {
    kAnswered,
    kRefused,     // this request alone; all wait only where `retry_after` says so
    kOverloaded,  // refused, and the upstream is overloaded
    kOther,
  };

  explicit Quota(QuotaOptions options = {}) : options_(options) {}

  // When a request of so many tokens may be sent: `now`, or later. Nothing: when a request in
  // flight has ended.
  std::optional<TimePoint> ready_at(TimePoint now, int64_t tokens) const;

  // The request is sent now; only when ready_at() allows it.
  Grant take(TimePoint now, int64_t tokens);

  // `tokens` is what it cost; a refused request costs none. `retry_after`: what the refusal named.
  void ended(TimePoint now, const Grant& grant, End end, int64_t tokens,
             std::optional<Duration> retry_after, Random& random);

  // The end of a pause that is not over yet.
  std::optional<TimePoint> cooling_until(TimePoint now) const;

 private:
  // Requests sent in a tenth of a second; they count for a minute after its end.
  struct Slice {
    TimePoint from;
    int64_t requests = 0;
    int64_t tokens = 0;
  };

  TimePoint room_at(TimePoint now, int64_t tokens) const;

  const QuotaOptions options_;
  std::deque<Slice> slices_;
  TimePoint spread_requests_{};  // when all that was sent would be spread evenly
  TimePoint spread_tokens_{};
  TimePoint cool_until_{};
  int32_t overloads_ = 0;  // overloads since the last answer
  bool half_open_ = false;
  bool probing_ = false;
};

}  // namespace windrow::dispatch
