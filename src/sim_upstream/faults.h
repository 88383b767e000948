// What goes wrong at a simulated upstream: which faults, how often, for how long. Pure: the same
// seed and the same arrivals give the same faults.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"

namespace windrow::sim_upstream {

enum class FaultKind : uint8_t {
  kRateLimit,    // 429, and everybody else gets one too while the storm lasts
  kServerError,  // 500, 502 or 503, likewise in bursts
  kStatus500,    // 500 alone, likewise
  kStatus502,    // 502
  kStatus503,    // 503
  kStall,        // the answer, or the second half of a stream, comes late or never
  kReset,        // the connection is reset after half of the body
  kSlowBody,     // the body comes in small pieces; of a stream, once all of it is made
  kTruncated,    // half of the JSON, or of a stream's events, as if it were all of it
  kContentType,  // a web page with status 200, as a proxy in between would send
  kSwapped,      // two requests get each other's answer
  kSchema,       // where JSON is asked for, it comes in another shape

  // Of streams alone; other requests are not struck.
  kStreamError,    // in the middle an event that says what went wrong, and no more
  kStreamGarbage,  // in the middle an event that is no JSON
  kNoDone,         // all is there but the mark of the end
};
constexpr size_t kFaultKinds = 15;

// "429", "5xx", "500", "502", "503", "stall", "reset", "slow-body", "truncated", "content-type",
// "swapped", "schema", "stream-error", "stream-garbage", "no-done".
std::string_view to_string(FaultKind kind);

// How a 429 says when to come back.
enum class LimitHeaders : uint8_t {
  kRetryAfter,  // Retry-After: seconds
  kRateLimit,   // x-ratelimit-limit-requests, -remaining-requests, -reset-requests
  kNone,        // it does not
};

struct FaultRule {
  FaultKind kind = FaultKind::kRateLimit;
  double probability = 0;  // of each request to be struck, or to begin a storm

  // Of 429, 5xx and single statuses: how long a storm strikes every request. Of stall: how much
  // later the answer comes. Of slow-body: how long the body takes. Absent: one request only; for
  // ever; one second.
  std::optional<Duration> duration;

  friend bool operator==(const FaultRule&, const FaultRule&) = default;
};

// "429=0.01:2s", "stall=0.001", "slow-body=0.01:500ms". kInvalid for anything else.
Result<FaultRule> parse_fault(std::string_view text);

// What one request is struck by.
struct Strike {
  FaultKind kind = FaultKind::kRateLimit;
  std::optional<Duration> duration;  // of 429: until the storm is over
};

class FaultDice {
 public:
  FaultDice(std::span<const FaultRule> rules, uint64_t seed);

  // Called once for each request that could be answered. The first rule that strikes counts; all
  // are drawn, so that one rule's storms do not move another's strikes.
  std::optional<Strike> roll(TimePoint now);

 private:
  std::vector<FaultRule> rules_;
  std::vector<std::optional<TimePoint>> storm_until_;  // by rule
  Random random_;
};

}  // namespace windrow::sim_upstream
