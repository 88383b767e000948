#include "dispatch/open_items.h"

#include <gtest/gtest.h>

namespace windrow::dispatch {
namespace {

using llm::FailureClass;

TEST(CallEndOf, ARefusalForLoadSaysForHowLong) {
  const CallEnd end = call_end_of(llm::Failure{.failure_class = FailureClass::kTransient,
                                               .status = 429,
                                               .overloaded = true,
                                               .retry_after_ms = 1500});
  EXPECT_EQ(end.fault, Fault::kOverloaded);
  EXPECT_EQ(end.retry_after, std::chrono::milliseconds(1500));
  EXPECT_FALSE(end.timed_out);
}

// Or a row that is always late would come back until patience ends.
TEST(CallEndOf, ATimeoutUsesUpAnAttemptAlsoWhenItIsASignOfLoad) {
  const CallEnd end = call_end_of(
      llm::Failure{.failure_class = FailureClass::kTransient, .status = 504, .overloaded = true});
  EXPECT_EQ(end.fault, Fault::kTransient);
  EXPECT_TRUE(end.timed_out);
}

TEST(CallEndOf, WhatReachedNoServerIsNoAttempt) {
  EXPECT_EQ(
      call_end_of(llm::Failure{.failure_class = FailureClass::kTransient, .unreached = true}).fault,
      Fault::kUnreached);
}

// Or a model that writes no JSON would have its server left alone.
TEST(CallEndOf, AnAnswerThatCannotBeUsedIsAnAnswerOfTheServer) {
  const CallEnd end =
      call_end_of(llm::Failure{.failure_class = FailureClass::kTransient,
                               .answered = true,
                               .usage = {.prompt_tokens = 16, .completion_tokens = 30}});
  EXPECT_EQ(end.fault, Fault::kTransient);
  EXPECT_TRUE(end.answered);
  EXPECT_EQ(end.tokens, 46);
  EXPECT_DOUBLE_EQ(end.work, 31);
}

TEST(CallEndOf, ACallMayHaveBeenTooLarge) {
  EXPECT_TRUE(call_end_of(llm::Failure{.status = 413}).too_large);
  EXPECT_FALSE(call_end_of(llm::Failure{.status = 400}).too_large);
}

TEST(CallEndOf, OtherFailuresKeepTheirClass) {
  const auto fault_of = [](FailureClass failure_class) {
    return call_end_of(llm::Failure{.failure_class = failure_class, .status = 500}).fault;
  };
  EXPECT_EQ(fault_of(FailureClass::kTransient), Fault::kTransient);
  EXPECT_EQ(fault_of(FailureClass::kRequest), Fault::kRequest);
  EXPECT_EQ(fault_of(FailureClass::kCancelled), Fault::kCancelled);
  EXPECT_EQ(fault_of(FailureClass::kBackend), Fault::kBackend);
}

// A prompt is computed many tokens at a time, and what was cached not at all.
TEST(CallEndOf, AnAnswersWorkIsMostlyItsOwnTokens) {
  const CallEnd end = call_end_of(
      llm::Answer{.usage = {.prompt_tokens = 1600, .completion_tokens = 50, .cached_tokens = 800}});
  EXPECT_EQ(end.fault, std::nullopt);
  EXPECT_EQ(end.tokens, 1650);
  EXPECT_DOUBLE_EQ(end.work, 50 + 800 / 16.0);
  EXPECT_DOUBLE_EQ(call_end_of(llm::Answer{}).work, 1);
}

TEST(CallEndOf, AShortageOfFilesSaysNothingOfTheServer) {
  const CallEnd end =
      call_end_of(llm::Failure{.failure_class = FailureClass::kTransient, .short_of_files = true});
  EXPECT_EQ(end.fault, Fault::kShortOfFiles);
  EXPECT_FALSE(end.timed_out);
  EXPECT_FALSE(end.replied);
}

TEST(CallEndOf, AReplyThatIsPassedOnIsAnAnswerWhateverItsStatus) {
  const auto end_of = [](int32_t status) {
    llm::Answer answer;
    answer.verbatim = {.status = status};
    return call_end_of(answer);
  };
  EXPECT_EQ(end_of(200).fault, std::nullopt);
  EXPECT_EQ(end_of(404).fault, Fault::kRequest);
  EXPECT_EQ(end_of(429).fault, Fault::kOverloaded);
  EXPECT_EQ(end_of(500).fault, Fault::kTransient);
  EXPECT_TRUE(end_of(500).replied);
  EXPECT_TRUE(end_of(504).timed_out);
  for (const int32_t status : {200, 401, 404, 429, 500, 503, 504})
    EXPECT_TRUE(end_of(status).passed_on) << status;
}

}  // namespace
}  // namespace windrow::dispatch
