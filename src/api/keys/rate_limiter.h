// RateLimiter: what one key may still ask this minute. Pure: time comes in, a decision goes out.
// Token buckets that hold one minute's worth and fill all the time, as OpenAI's limits behave;
// tokens are taken as they are expected and settled when it is known what they were.
//
// Invariants, of a limit of L a minute:
//   in any span of m minutes at most L * (1 + m) are granted beside what is given back, and one
//     request more: one above a whole bucket goes when the bucket is full, for it would wait for
//     ever;
//   what was used beyond what was granted is missing afterwards;
//   time that goes backwards gives nothing and takes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/keys/keys.h"
#include "base/clock.h"
#include "http/headers.h"
#include "llm/answer.h"

namespace windrow::api {

// Not thread-safe.
class RateLimiter {
 public:
  RateLimiter(const KeyLimits& limits, TimePoint now);

  // The key's limits are others from now on. What was used stays used.
  void set_limits(const KeyLimits& limits, TimePoint now);

  // Before the body is read. Nothing: a request may come in, and counts as one and as in flight
  // until leave(). Else 429 with code rate_limit_exceeded, which limit it was and retry_after_ms.
  std::optional<llm::Failure> enter(TimePoint now);

  // Once it is known what it will cost about. A failure, as enter's, takes nothing.
  std::optional<llm::Failure> take_tokens(TimePoint now, int64_t expected);

  // The same for what can wait: nothing to wait, and they are taken; or how long until there are
  // enough. Half of a minute's worth stays for those who cannot wait.
  Duration take_spare_tokens(TimePoint now, int64_t expected);

  // It used so many of those it took.
  void settle_tokens(TimePoint now, int64_t expected, int64_t used);

  // It was refused after all, and does not count as a request.
  void forget_request(TimePoint now);

  void leave();

  // x-ratelimit-limit-requests, -remaining-requests, -reset-requests, the same for tokens; those of
  // limits that there are.
  void add_headers(TimePoint now, http::Headers& headers) const;

  int64_t in_flight() const { return in_flight_; }

 private:
  struct Bucket {
    double per_minute = 0;
    double left = 0;
    TimePoint at{};

    Bucket at_time(TimePoint now) const;
    void set_limit(double limit, TimePoint now);
    Duration until(double amount) const;
  };

  KeyLimits limits_;
  Bucket requests_;
  Bucket tokens_;
  int64_t in_flight_ = 0;
};

// A time as x-ratelimit-reset-* have it: "0s", "17ms", "8.64s", "6m0s", "1h2m3s". Rounded up.
std::string reset_text(Duration duration);

}  // namespace windrow::api
