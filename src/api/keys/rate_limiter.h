// RateLimiter: the limits of one API key. Pure: the time goes in, a decision comes out. Token
// buckets that hold one minute's worth and fill continuously, as OpenAI's limits do. Tokens are
// taken as expected and settled when the usage is known.
//
// Invariants, for a limit of L per minute:
//   in any m minutes at most L * (1 + m) are granted, besides what is given back, and one request
//     more: a request larger than a whole bucket goes when the bucket is full, or it would wait
//     forever;
//   usage beyond what was granted is missing afterwards;
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

  // Changes the limits. What was used stays used.
  void set_limits(const KeyLimits& limits, TimePoint now);

  // Before the body is read. Nullopt: the request is accepted, and counts as a request and as in
  // flight until leave(). Else 429, rate_limit_exceeded, which names the limit and retry_after_ms.
  std::optional<llm::Failure> enter(TimePoint now);

  // Takes the tokens that the request is expected to use. A failure, as enter's, takes nothing.
  std::optional<llm::Failure> take_tokens(TimePoint now, int64_t expected);

  // The same for a request that can wait, which leaves half a minute's tokens to the others. Zero:
  // the tokens are taken; else how long it takes until there are enough.
  Duration take_spare_tokens(TimePoint now, int64_t expected);

  // The request took `expected` tokens and used `used`.
  void settle_tokens(TimePoint now, int64_t expected, int64_t used);

  // The request was rejected after all, and does not count.
  void forget_request(TimePoint now);

  void leave();

  // Adds x-ratelimit-limit-requests, -remaining-requests, -reset-requests, and the same for tokens,
  // for the limits that the key has.
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

// A duration as in x-ratelimit-reset-*: "0s", "17ms", "8.64s", "6m0s", "1h2m3s". Rounded up.
std::string reset_text(Duration duration);

}  // namespace windrow::api
