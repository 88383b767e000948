// The faults of a simulated upstream: which ones strike, how often and for how long. Pure: the same
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
  kRateLimit,    // 429, for every request while a storm lasts
  kServerError,  // 500, 502 or 503, in storms as well
  kStatus500,    // one status alone, in storms as well
  kStatus502,
  kStatus503,
  kStall,        // the answer, or the second half of a stream, comes late or never
  kReset,        // the connection is reset after half of the body
  kSlowBody,     // the body comes in small pieces; a stream only when all of it is made
  kTruncated,    // half of the JSON, or of a stream's events, ends as if it were complete
  kContentType,  // a web page with status 200, like that of a captive portal
  kSwapped,      // two requests get each other's answer
  kSchema,       // the JSON that was asked for has another shape

  // Only for streams.
  kStreamError,    // an error event in the middle, and nothing after it
  kStreamGarbage,  // an event in the middle that is no JSON
  kNoDone,         // everything but the final [DONE]
  kNoEnd,          // whole events up to the middle, as if it ended there

  // Refusals, in storms as well.
  kStatus400,
  kText400,  // plain text, no JSON
  kText429,
  kText500,

  // Replies with status 200 that are of no use.
  kNotJson,
  kErrorObject,   // an error instead of an answer
  kNullContent,   // a chat's message has no content
  kNoTokens,      // without what tells the tokens: meta_info, token_ids
  kLogprobCount,  // one log-probability too few
  kFewRows,       // one row of experts too few
  kBadBase64,     // rows of experts that are no base64
};
constexpr size_t kFaultKinds = 27;

// "429", "5xx", "500", "502", "503", "stall", "reset", "slow-body", "truncated", "content-type",
// "swapped", "schema", "stream-error", "stream-garbage", "no-done", "no-end", "400", "400-text",
// "429-text", "500-text", "not-json", "error-200", "null-content", "no-tokens", "logprob-count",
// "few-rows", "bad-base64".
std::string_view to_string(FaultKind kind);

// How a 429 says when to retry.
enum class LimitHeaders : uint8_t {
  kRetryAfter,  // Retry-After: seconds
  kRateLimit,   // x-ratelimit-limit-requests, -remaining-requests, -reset-requests
  kNone,        // not at all
};

struct FaultRule {
  FaultKind kind = FaultKind::kRateLimit;
  double probability = 0;  // that a request is struck, or begins a storm

  // Statuses: how long a storm strikes every request; absent: only one request.
  // kStall: how much later the answer comes; absent: never. kSlowBody: how long the body takes;
  // absent: one second.
  std::optional<Duration> duration;

  friend bool operator==(const FaultRule&, const FaultRule&) = default;
};

// Reads "429=0.01:2s", "stall=0.001", "slow-body=0.01:500ms". kInvalid for anything else.
Result<FaultRule> parse_fault(std::string_view text);

// The fault that strikes one request.
struct Strike {
  FaultKind kind = FaultKind::kRateLimit;
  std::optional<Duration> duration;  // FaultRule::duration; in a storm, what is left of it
};

// Draws the faults. Used by one thread at a time.
class FaultDice {
 public:
  FaultDice(std::span<const FaultRule> rules, uint64_t seed);

  // To be called once for each request that could be answered. The first rule that strikes counts;
  // all of them are drawn, so that one rule's storms do not move another's strikes.
  std::optional<Strike> roll(TimePoint now);

 private:
  std::vector<FaultRule> rules_;
  std::vector<std::optional<TimePoint>> storm_until_;  // by rule
  Random random_;
};

}  // namespace windrow::sim_upstream
