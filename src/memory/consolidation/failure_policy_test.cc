#include "memory/consolidation/failure_policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace windrow::memory {
namespace {

using llm::Failure;
using llm::FailureClass;

struct Case {
  FailureClass failure_class;
  int32_t status;
  BatchFailure expected;
};

TEST(VerdictOf, FollowsTheStatus) {
  const std::vector<Case> cases = {
      {FailureClass::kRequest, 401, BatchFailure::kStop},
      {FailureClass::kRequest, 402, BatchFailure::kStop},
      {FailureClass::kRequest, 403, BatchFailure::kStop},
      {FailureClass::kRequest, 404, BatchFailure::kStop},
      {FailureClass::kRequest, 429, BatchFailure::kStop},
      {FailureClass::kTransient, 429, BatchFailure::kStop},
      {FailureClass::kRequest, 400, BatchFailure::kHalve},
      {FailureClass::kRequest, 413, BatchFailure::kHalve},
      {FailureClass::kRequest, 422, BatchFailure::kHalve},
      {FailureClass::kTransient, 422, BatchFailure::kHalve},
      {FailureClass::kTransient, 408, BatchFailure::kRetry},
      {FailureClass::kTransient, 500, BatchFailure::kRetry},
      {FailureClass::kTransient, 502, BatchFailure::kRetry},
      {FailureClass::kTransient, 503, BatchFailure::kRetry},
      {FailureClass::kTransient, 504, BatchFailure::kRetry},
      {FailureClass::kCancelled, 499, BatchFailure::kStop},
      {FailureClass::kBackend, 500, BatchFailure::kStop},
  };
  for (const Case& one : cases) {
    const Failure failure{.failure_class = one.failure_class, .status = one.status};
    EXPECT_EQ(verdict_of(failure).failure, one.expected) << one.status;
  }
}

TEST(VerdictOf, ARequestThatARetryDoesNotHelpIsHalvedWhateverItsStatus) {
  EXPECT_EQ(verdict_of({.failure_class = FailureClass::kRequest, .status = 500}).failure,
            BatchFailure::kHalve);
}

TEST(VerdictOf, AnAnswerWithoutTheWantedFormIsHalved) {
  EXPECT_EQ(verdict_of({.failure_class = FailureClass::kTransient, .status = 502, .answered = true})
                .failure,
            BatchFailure::kHalve);
}

TEST(VerdictOf, ARateLimitSaysHowLongItLastsIfThatIsKnown) {
  Failure limited{.failure_class = FailureClass::kTransient, .status = 429};
  EXPECT_EQ(verdict_of(limited).wait, std::nullopt);
  limited.retry_after_ms = 1500;
  EXPECT_EQ(verdict_of(limited).wait, std::chrono::milliseconds(1500));
  const Failure overloaded{
      .failure_class = FailureClass::kTransient, .status = 503, .retry_after_ms = 1500};
  EXPECT_EQ(verdict_of(overloaded).wait, std::nullopt);
}

TEST(BackoffOf, DoublesUpToEightSeconds) {
  const std::vector<int64_t> seconds = {1, 2, 4, 8, 8, 8};
  for (int32_t attempt = 1; attempt <= 6; ++attempt) {
    EXPECT_EQ(backoff_of(attempt), std::chrono::seconds(seconds[static_cast<size_t>(attempt - 1)]));
  }
  EXPECT_EQ(backoff_of(INT32_MAX), std::chrono::seconds(8));
}

}  // namespace
}  // namespace windrow::memory
