#include "api/calls/envelope.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string_view>

namespace windrow::api {
namespace {

using dispatch::Priority;
using std::chrono::milliseconds;

struct Opened {
  std::variant<Envelope, llm::Failure> result;
  boost::json::object rest;

  const Envelope& envelope() const { return std::get<Envelope>(result); }
  const llm::Failure& failure() const { return std::get<llm::Failure>(result); }
};

Opened open(std::string_view body, const http::Headers& headers = {},
            llm::Endpoint endpoint = llm::Endpoint::kChatCompletions) {
  Opened opened{.rest = boost::json::parse(body).as_object()};
  opened.result = open_envelope(endpoint, opened.rest, headers);
  return opened;
}

TEST(Envelope, ABodyWithoutAnyIsNormalAndWhole) {
  const Opened opened = open(R"({"model":"m"})");
  EXPECT_FALSE(opened.envelope().stream);
  EXPECT_EQ(opened.envelope().priority, Priority::kNormal);
  EXPECT_EQ(opened.envelope().lane, "");
  EXPECT_FALSE(opened.envelope().deadline.has_value());
  EXPECT_FALSE(opened.envelope().names_tier);
}

TEST(Envelope, ItsFieldsLeaveTheBody) {
  const Opened opened = open(
      R"({"stream":true,"a":1,"stream_options":{"include_usage":true,"include_obfuscation":false,
          "continuous_usage_stats":true},"priority":"batch","service_tier":"auto"})");
  EXPECT_TRUE(opened.envelope().stream);
  EXPECT_TRUE(opened.envelope().stream_usage);
  EXPECT_EQ(opened.rest, boost::json::parse(R"({"a":1})"));
  EXPECT_EQ(open(R"({"stream":null,"stream_options":null,"priority":null})").rest.size(), 0U);
}

TEST(Envelope, PrioritiesAreWordsOrNumbers) {
  const auto priority = [](std::string_view body) { return open(body).envelope().priority; };
  EXPECT_EQ(priority(R"({"priority":"interactive"})"), Priority::kInteractive);
  EXPECT_EQ(priority(R"({"priority":"normal"})"), Priority::kNormal);
  EXPECT_EQ(priority(R"({"priority":"batch"})"), Priority::kBatch);
  EXPECT_EQ(priority(R"({"priority":-5})"), Priority::kInteractive);
  EXPECT_EQ(priority(R"({"priority":0})"), Priority::kNormal);
  EXPECT_EQ(priority(R"({"priority":7.0})"), Priority::kBatch);
}

TEST(Envelope, ServiceTiersAreOpenAis) {
  const auto priority = [](std::string_view body) {
    const Opened opened = open(body);
    EXPECT_TRUE(opened.envelope().names_tier) << body;
    return opened.envelope().priority;
  };
  EXPECT_EQ(priority(R"({"service_tier":"flex"})"), Priority::kBatch);
  EXPECT_EQ(priority(R"({"service_tier":"priority"})"), Priority::kInteractive);
  EXPECT_EQ(priority(R"({"service_tier":"auto"})"), Priority::kNormal);
  EXPECT_EQ(priority(R"({"service_tier":"default"})"), Priority::kNormal);
  // The plainer word wins.
  EXPECT_EQ(priority(R"({"service_tier":"flex","priority":"interactive"})"),
            Priority::kInteractive);
  EXPECT_EQ(tier_name(Priority::kInteractive), "priority");
  EXPECT_EQ(tier_name(Priority::kNormal), "default");
  EXPECT_EQ(tier_name(Priority::kBatch), "flex");
}

TEST(Envelope, HeadersWinOverTheBody) {
  const Opened opened = open(R"({"priority":"interactive"})", {{"x-windrow-priority", "batch"},
                                                               {"X-Windrow-Lane", "a b"},
                                                               {"X-Windrow-Deadline-Ms", "1500"}});
  EXPECT_EQ(opened.envelope().priority, Priority::kBatch);
  EXPECT_EQ(opened.envelope().lane, "a b");
  EXPECT_EQ(opened.envelope().deadline, milliseconds(1500));
  EXPECT_EQ(open("{}", {{"X-Windrow-Priority", "-1"}}).envelope().priority, Priority::kInteractive);
}

TEST(Envelope, WhatItCannotReadIsNamed) {
  const auto param = [](std::string_view body, const http::Headers& headers = {},
                        llm::Endpoint endpoint = llm::Endpoint::kChatCompletions) {
    const Opened opened = open(body, headers, endpoint);
    EXPECT_EQ(opened.failure().status, 400);
    return opened.failure().param;
  };
  EXPECT_EQ(param(R"({"stream":"yes"})"), "stream");
  EXPECT_EQ(param(R"({"stream":true})", {}, llm::Endpoint::kEmbeddings), "stream");
  EXPECT_EQ(param(R"({"stream":true})", {}, llm::Endpoint::kRerank), "stream");
  EXPECT_EQ(param(R"({"stream_options":{}})"), "stream_options");
  EXPECT_EQ(param(R"({"stream":true,"stream_options":[]})"), "stream_options");
  EXPECT_EQ(param(R"({"stream":true,"stream_options":{"x":1}})"), "stream_options");
  EXPECT_EQ(param(R"({"stream":true,"stream_options":{"include_usage":1}})"),
            "stream_options.include_usage");
  EXPECT_EQ(param(R"({"priority":"urgent"})"), "priority");
  EXPECT_EQ(param(R"({"priority":0.5})"), "priority");
  EXPECT_EQ(param(R"({"priority":true})"), "priority");
  EXPECT_EQ(param(R"({"service_tier":"gold"})"), "service_tier");
  EXPECT_EQ(param(R"({"service_tier":3})"), "service_tier");
  EXPECT_EQ(param("{}", {{"X-Windrow-Priority", "now"}}), "X-Windrow-Priority");
  EXPECT_EQ(param("{}", {{"X-Windrow-Lane", std::string(129, 'a')}}), "X-Windrow-Lane");
  EXPECT_EQ(param("{}", {{"X-Windrow-Lane", "\xFF"}}), "X-Windrow-Lane");
  for (const std::string_view wrong : {"", "0", "-1", "1.5", "5s", "99999999999999999999"})
    EXPECT_EQ(param("{}", {{"X-Windrow-Deadline-Ms", wrong}}), "X-Windrow-Deadline-Ms") << wrong;
}

}  // namespace
}  // namespace windrow::api
