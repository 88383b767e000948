#include "upstream/failure_reports.h"

#include <gmock/gmock.h>
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

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kOrigin = "http://10.0.0.7:8000";
constexpr std::string_view kName = "a server behind this one";

llm::Failure failure(std::string code, std::string message) {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 502,
          .code = std::move(code),
          .message = std::move(message)};
}

std::string words(const llm::Failure& failure) {
  return redact_for_client(failure, kOrigin, kName);
}

TEST(ClientWords, OfACallWithoutAReplySayNothingOfWhereItWent) {
  for (const char* code : {"upstream_unreachable", "tls_failed", "proxy_failed", "upstream_timeout",
                           "connection_reset", "reply_too_large", "stream_broken"}) {
    const std::string text = words(failure(
        code, "http://10.0.0.7:8000: 10.0.0.7 port 8000 through http://proxy.inner:3128 failed"));
    EXPECT_THAT(text, StartsWith("a server behind this one ")) << code;
    EXPECT_THAT(text, Not(HasSubstr("10.0.0.7"))) << code;
    EXPECT_THAT(text, Not(HasSubstr("inner"))) << code;
  }
}

TEST(ClientWords, KeepWhatTheServerSaid) {
  llm::Failure told = failure("model_busy", "http://10.0.0.7:8000 answered 500: it is full");
  told.replied = true;
  EXPECT_EQ(words(told), "a server behind this one answered 500: it is full");
  llm::Failure stream =
      failure("stream_broken", "the stream of http://10.0.0.7:8000 broke off: no memory left");
  stream.raw = R"({"error":{"message":"no memory left"}})";
  EXPECT_EQ(words(stream), "the stream of a server behind this one broke off: no memory left");
  EXPECT_EQ(words(failure("x", "http://10.0.0.7:8000: http://10.0.0.7:8000")),
            "a server behind this one: a server behind this one");
}

// Clients of a server in front can do nothing about its key.
TEST(ClientWords, ADenialIsNotTheClients) {
  for (const int32_t status : {401, 403}) {
    const llm::Failure denied{.failure_class = llm::FailureClass::kBackend,
                              .status = status,
                              .code = "invalid_api_key",
                              .message = "http://10.0.0.7:8000 answered: your key sk-1 is over",
                              .replied = true,
                              .raw = R"({"error":{"message":"your key is over"}})"};
    const llm::Failure told = for_clients(denied, kOrigin, kName);
    EXPECT_EQ(told.status, 502);
    EXPECT_EQ(told.code, "upstream_denied");
    EXPECT_THAT(told.message, StartsWith("a server behind this one "));
    EXPECT_THAT(told.message, Not(HasSubstr("over")));
    EXPECT_EQ(told.raw, "");
  }
}

TEST(ClientWords, WhereItIsStandsNotInWhatItSaidEither) {
  llm::Failure told =
      failure("x", "http://10.0.0.7:8000 answered 500: see http://10.0.0.7:8000/v1");
  told.replied = true;
  told.raw = R"({"error":{"message":"see http://10.0.0.7:8000/v1"}})";
  const llm::Failure shown = for_clients(told, kOrigin, kName);
  EXPECT_THAT(shown.message + shown.raw, Not(HasSubstr("10.0.0.7")));
  EXPECT_THAT(shown.raw, HasSubstr("see a server behind this one/v1"));
}

TEST(ClientWords, DoNotSayWhereARedirectLeads) {
  llm::Failure redirect = failure("bad_request", "http://10.0.0.7:8000 points to http://inner/");
  redirect.status = 301;
  redirect.replied = true;
  EXPECT_EQ(words(redirect), "a server behind this one redirects to another address");
  const llm::Failure told = for_clients(redirect, kOrigin, kName);
  EXPECT_EQ(told.status, 502);
  EXPECT_EQ(told.code, "redirected");
}

}  // namespace
}  // namespace windrow::upstream
