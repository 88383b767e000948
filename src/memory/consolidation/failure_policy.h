// What a failure of a model means for a batch. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "llm/answer.h"

namespace windrow::memory {

enum class BatchFailure : uint8_t {
  kStop,   // rate limit, no right to ask, no such model, cancelled: the run stops and waits
  kHalve,  // malformed, or too long: the same question would fail again, half of it might not
  kRetry,  // it may work in a moment
};

struct FailureVerdict {
  BatchFailure failure = BatchFailure::kRetry;
  std::optional<Duration> wait;  // kStop: until the limit is over, if that is known
};

// 401, 403, 404, 429 stop; 400, 413, 422 and an answer without the wanted form halve; other
// transient failures are tried again.
FailureVerdict verdict_of(const llm::Failure& failure);

// Before the n-th attempt after the first: 1, 2, 4, 8 seconds, and 8 from then on.
Duration backoff_of(int32_t attempt);

}  // namespace windrow::memory
