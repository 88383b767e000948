// A quota of requests and tokens per minute, as hosted services have, and what replies say about
// it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "http/headers.h"
#include "sim_upstream/options.h"
#include "sim_upstream/reply.h"

namespace windrow::sim_upstream {

// A token bucket that holds a minute's worth and fills evenly (Turner's leaky bucket as a meter,
// 1986): a client may spend all of it at once and is then held to the rate.
class RateLimit {
 public:
  // 0: no limit.
  explicit RateLimit(int64_t per_minute) : per_minute_(per_minute) {}

  bool limits() const { return per_minute_ > 0; }
  int64_t per_minute() const { return per_minute_; }

  // Whether `amount` may be spent now. A full bucket allows more than a minute's worth.
  bool has(int64_t amount, TimePoint now) const;
  void spend(int64_t amount, TimePoint now);

  int64_t remaining(TimePoint now) const;

  // How long until `amount` may be spent, and until the bucket is full.
  Duration until(int64_t amount, TimePoint now) const;
  Duration until_full(TimePoint now) const { return until(per_minute_, now); }

 private:
  double level(TimePoint now) const;

  int64_t per_minute_;
  double spent_ = 0;  // missing from a full bucket at since_
  TimePoint since_{};
};

// Both limits of a server.
class SimQuota {
 public:
  explicit SimQuota(const SimOptions& options)
      : style_(options.limit_headers),
        requests_(options.requests_per_minute),
        tokens_(options.tokens_per_minute) {}

  // The 429 to a request with so many prompt tokens; nullopt: it is within the limits.
  std::optional<SimReply> refusal(int64_t tokens, TimePoint now) const;

  void spend(int64_t tokens, TimePoint now);

  // A 429 for `wait` that no limit is the reason of.
  SimReply storm_reply(Duration wait) const { return limit_reply("requests", requests_, wait); }

  // Adds what is left to the headers of an answer, where there are limits.
  void add_headers(TimePoint now, http::Headers& headers) const;

 private:
  SimReply limit_reply(std::string_view what, const RateLimit& limit, Duration wait) const;

  LimitHeaders style_;
  RateLimit requests_;
  RateLimit tokens_;
};

}  // namespace windrow::sim_upstream
