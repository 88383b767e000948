// Allowance: what one key may still ask this minute. Pure: time comes in, a decision goes out.
// Token buckets that hold one minute's worth, as OpenAI's limits behave; tokens are taken as they
// are expected and settled when it is known what they were.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/keys.h"
#include "base/clock.h"
#include "http/headers.h"
#include "llm/answer.h"

namespace windrow::api {

class Allowance {
 public:
  Allowance(KeyLimits limits, TimePoint now);

  // Nothing: it may go, and counts from now on. Else 429 with code rate_limit_exceeded, which limit
  // it was and retry_after_ms.
  std::optional<llm::Failure> take(TimePoint now, int64_t tokens_expected);

  // It is over, and used so many tokens.
  void settle(int64_t tokens_expected, int64_t tokens_used);

  // x-ratelimit-limit-requests, -remaining-requests, -reset-requests, the same for tokens; those of
  // limits that there are.
  void add_headers(TimePoint now, http::Headers& headers) const;

  int64_t in_flight() const { return in_flight_; }

 private:
  struct Bucket {
    double per_minute = 0;
    double left = 0;
    TimePoint at{};

    void refill(TimePoint now);
    Duration until(double amount) const;
  };

  KeyLimits limits_;
  Bucket requests_;
  Bucket tokens_;
  int64_t in_flight_ = 0;
};

}  // namespace windrow::api
