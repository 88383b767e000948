#include "memory/consolidation/failure_policy.h"

#include <algorithm>
#include <chrono>

namespace windrow::memory {
namespace {

BatchFailure kind_of(const llm::Failure& failure) {
  switch (failure.failure_class) {
    case llm::FailureClass::kCancelled:
    case llm::FailureClass::kBackend:
      return BatchFailure::kStop;
    case llm::FailureClass::kRequest:
    case llm::FailureClass::kTransient:
      break;
  }
  switch (failure.status) {
    case 401:
    case 402:
    case 403:
    case 404:
    case 429:
      return BatchFailure::kStop;
    case 400:
    case 413:
    case 422:
      return BatchFailure::kHalve;
    default:
      break;
  }
  // The upstream answered, and not in the form that was asked for.
  if (failure.answered) return BatchFailure::kHalve;
  return failure.failure_class == llm::FailureClass::kTransient ? BatchFailure::kRetry
                                                                : BatchFailure::kHalve;
}

}  // namespace

FailureVerdict verdict_of(const llm::Failure& failure) {
  FailureVerdict verdict{.failure = kind_of(failure)};
  if (verdict.failure == BatchFailure::kStop && failure.retry_after_ms) {
    verdict.wait = std::chrono::milliseconds(*failure.retry_after_ms);
  }
  return verdict;
}

Duration backoff_of(int32_t attempt) {
  return std::chrono::seconds(1 << std::clamp(attempt - 1, 0, 3));
}

}  // namespace windrow::memory
