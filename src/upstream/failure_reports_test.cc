#include "upstream/failure_reports.h"

#include <gtest/gtest.h>

namespace windrow::upstream {
namespace {

using std::chrono::seconds;

llm::Failure failure_of(std::string code) {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 503,
          .code = std::move(code),
          .message = "http://a answered 503: busy",
          .param = {},
          .overloaded = true,
          .retry_after_ms = {},
          .raw = {}};
}

TEST(FailureReports, ReportsTheFirstOfAWaveAndCountsTheRest) {
  FailureReports reports;
  const TimePoint start{seconds(100)};
  EXPECT_EQ(reports.add(start, "a", failure_of("busy")), "http://a answered 503: busy");
  for (int i = 1; i <= 29; ++i)
    EXPECT_EQ(reports.add(start + seconds(i), "a", failure_of("busy")), std::nullopt) << i;
  EXPECT_EQ(reports.add(start + seconds(30), "a", failure_of("busy")),
            "a: 30 more of busy since then, the last: http://a answered 503: busy");
  EXPECT_EQ(reports.add(start + seconds(31), "a", failure_of("busy")), std::nullopt);
}

TEST(FailureReports, AnotherKindOrServerIsANewWave) {
  FailureReports reports;
  const TimePoint start{seconds(100)};
  EXPECT_TRUE(reports.add(start, "a", failure_of("busy")));
  EXPECT_TRUE(reports.add(start, "b", failure_of("busy")));
  EXPECT_TRUE(reports.add(start, "a", failure_of("reset")));
  EXPECT_FALSE(reports.add(start, "a", failure_of("busy")));
}

TEST(FailureReports, AfterSilenceAWaveIsNew) {
  FailureReports reports;
  const TimePoint start{seconds(100)};
  EXPECT_TRUE(reports.add(start, "a", failure_of("busy")));
  EXPECT_EQ(reports.add(start + seconds(60), "a", failure_of("busy")),
            "http://a answered 503: busy");
}

TEST(FailureReports, ToldToWaitItSaysSo) {
  FailureReports reports;
  llm::Failure failure = failure_of("busy");
  failure.retry_after_ms = 20'000;
  EXPECT_EQ(reports.add(TimePoint{}, "a", failure),
            "http://a answered 503: busy (it asks for a retry after 20 s)");
}

TEST(FailureReports, CancelledCallsAreNotReported) {
  FailureReports reports;
  llm::Failure failure = failure_of("cancelled");
  failure.failure_class = llm::FailureClass::kCancelled;
  EXPECT_FALSE(reports.add(TimePoint{}, "a", failure));
}

TEST(AllFailedRule, EndsAJobOnlyWhileNoServerHasEverAnswered) {
  llm::Failure failure = failure_of("bad_gateway");
  failure.overloaded = false;
  AllFailedRule rule;
  for (int i = 1; i < 40; ++i)
    EXPECT_FALSE(rule.add(failure, false)) << i;
  EXPECT_FALSE(rule.error());
  EXPECT_TRUE(rule.add(failure, false));
  EXPECT_EQ(rule.error()->message,
            "of 40 requests none was answered; the last failure: http://a answered 503: busy");
  EXPECT_FALSE(rule.add(failure, false)) << "said once";

  AllFailedRule answered;
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(answered.add(failure, true)) << i;
}

TEST(AllFailedRule, OverloadAndUnreachableServersDoNotCount) {
  AllFailedRule rule;
  llm::Failure unreached = failure_of("upstream_unreachable");
  unreached.overloaded = false;
  unreached.unreached = true;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(rule.add(failure_of("busy"), false)) << i;
    EXPECT_FALSE(rule.add(unreached, false)) << i;
  }
}

}  // namespace
}  // namespace windrow::upstream
