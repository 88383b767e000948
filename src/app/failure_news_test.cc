#include "app/failure_news.h"

#include <gtest/gtest.h>

namespace windrow::app {
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

TEST(FailureNews, SaysTheFirstOfAWaveAndCountsTheRest) {
  FailureNews news;
  const TimePoint start{seconds(100)};
  EXPECT_EQ(news.tell(start, "a", failure_of("busy")), "http://a answered 503: busy");
  for (int i = 1; i <= 29; ++i)
    EXPECT_EQ(news.tell(start + seconds(i), "a", failure_of("busy")), std::nullopt) << i;
  EXPECT_EQ(news.tell(start + seconds(30), "a", failure_of("busy")),
            "a: 30 more of busy since then, the last: http://a answered 503: busy");
  EXPECT_EQ(news.tell(start + seconds(31), "a", failure_of("busy")), std::nullopt);
}

TEST(FailureNews, AnotherKindOrServerIsANewWave) {
  FailureNews news;
  const TimePoint start{seconds(100)};
  EXPECT_TRUE(news.tell(start, "a", failure_of("busy")));
  EXPECT_TRUE(news.tell(start, "b", failure_of("busy")));
  EXPECT_TRUE(news.tell(start, "a", failure_of("reset")));
  EXPECT_FALSE(news.tell(start, "a", failure_of("busy")));
}

TEST(FailureNews, AfterSilenceAWaveIsNew) {
  FailureNews news;
  const TimePoint start{seconds(100)};
  EXPECT_TRUE(news.tell(start, "a", failure_of("busy")));
  EXPECT_EQ(news.tell(start + seconds(60), "a", failure_of("busy")), "http://a answered 503: busy");
}

TEST(FailureNews, ToldToWaitItSaysSo) {
  FailureNews news;
  llm::Failure failure = failure_of("busy");
  failure.retry_after_ms = 20'000;
  EXPECT_EQ(news.tell(TimePoint{}, "a", failure),
            "http://a answered 503: busy (it asks to be left alone for 20 s)");
}

TEST(FailureNews, CancelsAreNoNews) {
  FailureNews news;
  llm::Failure failure = failure_of("cancelled");
  failure.failure_class = llm::FailureClass::kCancelled;
  EXPECT_FALSE(news.tell(TimePoint{}, "a", failure));
}

}  // namespace
}  // namespace windrow::app
