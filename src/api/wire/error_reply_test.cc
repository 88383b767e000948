#include "api/wire/error_reply.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::api {
namespace {

namespace json = boost::json;
using llm::Failure;
using llm::FailureClass;

Failure failure(FailureClass failure_class, int status) {
  return {.failure_class = failure_class, .status = status, .code = "c", .message = "why"};
}

int status(FailureClass failure_class, int status) {
  return status_of(failure(failure_class, status));
}

TEST(ErrorReply, TheStatusGoesByTheClass) {
  EXPECT_EQ(status(FailureClass::kRequest, 400), 400);
  EXPECT_EQ(status(FailureClass::kRequest, 408), 408);
  EXPECT_EQ(status(FailureClass::kRequest, 0), 400);
  EXPECT_EQ(status(FailureClass::kRequest, 200), 400);
  EXPECT_EQ(status(FailureClass::kTransient, 500), 502);
  EXPECT_EQ(status(FailureClass::kTransient, 408), 504);
  EXPECT_EQ(status(FailureClass::kTransient, 429), 429);
  EXPECT_EQ(status(FailureClass::kTransient, 503), 503);
  EXPECT_EQ(status(FailureClass::kTransient, 0), 502);
  EXPECT_EQ(status(FailureClass::kCancelled, 499), 503);
  EXPECT_EQ(status(FailureClass::kBackend, 500), 500);
  EXPECT_EQ(status(FailureClass::kBackend, 400), 500);
  Failure busy = failure(FailureClass::kTransient, 200);
  busy.overloaded = true;
  EXPECT_EQ(status_of(busy), 503);
}

TEST(ErrorReply, WhatMayBeTriedAgainSaysWhen) {
  const auto retry = [](const Failure& failure) {
    return std::string(error_reply(failure).headers.get("Retry-After").value_or("-"));
  };
  Failure busy = failure(FailureClass::kTransient, 429);
  EXPECT_EQ(retry(busy), "1");
  busy.retry_after_ms = 2001;
  EXPECT_EQ(retry(busy), "3");
  busy.retry_after_ms = int64_t{1} << 60;
  EXPECT_EQ(retry(busy), "3600");
  busy.retry_after_ms = -5;
  EXPECT_EQ(retry(busy), "1");
  EXPECT_EQ(retry(failure(FailureClass::kTransient, 500)), "1");
  EXPECT_EQ(retry(failure(FailureClass::kRequest, 400)), "-");
  EXPECT_EQ(retry(failure(FailureClass::kRequest, 408)), "-");
  EXPECT_EQ(retry(failure(FailureClass::kBackend, 500)), "-");
}

TEST(ErrorReply, ADeadlineThatPassedIsNotAskedAgain) {
  Failure late = failure(FailureClass::kRequest, 408);
  EXPECT_FALSE(error_reply(late).headers.get("x-should-retry"));
  late.code = "deadline_exceeded";
  EXPECT_EQ(error_reply(late).headers.get("x-should-retry"), "false");
}

TEST(ErrorReply, TheBodyHasTheShapeOfTheApi) {
  Failure wrong = failure(FailureClass::kRequest, 400);
  wrong.param = "top_p";
  EXPECT_EQ(json::parse(error_reply(wrong).body),
            json::parse(R"({"error":{"message":"why","type":"invalid_request_error",
                             "param":"top_p","code":"c"}})"));
  const auto type = [](int status) {
    return std::string(
        json::parse(error_reply(status, "why").body).at("error").at("type").as_string());
  };
  EXPECT_EQ(type(401), "authentication_error");
  EXPECT_EQ(type(403), "permission_error");
  EXPECT_EQ(type(404), "not_found_error");
  EXPECT_EQ(type(405), "invalid_request_error");
  EXPECT_EQ(type(413), "invalid_request_error");
  EXPECT_EQ(type(429), "rate_limit_error");
  EXPECT_EQ(type(500), "server_error");
  EXPECT_EQ(code_of(501), "not_implemented");
  EXPECT_EQ(code_of(503), "unavailable");
}

TEST(ErrorReply, AServerElsewhereIsQuotedWhereItSpeaksThisShape) {
  Failure theirs = failure(FailureClass::kRequest, 400);
  theirs.raw = R"({"error":{"message":"theirs","vendor":1}})";
  EXPECT_EQ(error_reply(theirs).body, theirs.raw);
  for (const char* other : {R"({"detail":"no"})", R"({"error":"no"})", "[]", "{", R"("x")"}) {
    theirs.raw = other;
    EXPECT_EQ(json::parse(error_reply(theirs).body).at("error").at("message"), "why") << other;
  }
}

}  // namespace
}  // namespace windrow::api
