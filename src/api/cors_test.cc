#include "api/cors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CorsPolicy policy(std::vector<std::string> origins) {
  Result<CorsPolicy> made = CorsPolicy::make(std::move(origins));
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made ? *std::move(made) : CorsPolicy();
}

std::string value(const http::Headers& headers, std::string_view name) {
  return std::string(headers.get(name).value_or("none"));
}

// Of a reply to a page of `origin`.
http::Headers reply_to(const CorsPolicy& cors, std::string_view origin) {
  http::Headers request;
  if (!origin.empty()) request.add("Origin", origin);
  http::Headers reply;
  cors.add_headers(request, reply);
  return reply;
}

TEST(Cors, IsOffByDefault) {
  EXPECT_TRUE(reply_to(CorsPolicy(), "https://a.example").empty());
  EXPECT_TRUE(reply_to(policy({}), "https://a.example").empty());
  http::Headers reply;
  const http::Headers asked{{"Origin", "https://a.example"},
                            {"Access-Control-Request-Method", "POST"}};
  EXPECT_FALSE(CorsPolicy().add_preflight_headers(asked, "POST", reply));
  EXPECT_TRUE(reply.empty());
}

TEST(Cors, OnlyNamedPagesMayRead) {
  const CorsPolicy cors = policy({"https://a.example", "http://localhost:5173"});
  EXPECT_EQ(value(reply_to(cors, "https://a.example"), "Access-Control-Allow-Origin"),
            "https://a.example");
  EXPECT_EQ(value(reply_to(cors, "http://localhost:5173"), "Access-Control-Allow-Origin"),
            "http://localhost:5173");
  EXPECT_THAT(
      value(reply_to(cors, "https://a.example"), "Access-Control-Expose-Headers"),
      AllOf(HasSubstr("X-Request-Id"), HasSubstr(", Request-Id"), HasSubstr("X-Should-Retry")));
  for (const char* other : {"https://b.example", "http://a.example", "https://a.example:444",
                            "https://a.example.b", "null", ""}) {
    const http::Headers reply = reply_to(cors, other);
    EXPECT_FALSE(reply.has("Access-Control-Allow-Origin")) << other;
    EXPECT_EQ(value(reply, "Vary"), "Origin") << other;
  }
}

TEST(Cors, AnyPageMayReadWithoutCredentials) {
  const http::Headers reply = reply_to(policy({"*"}), "https://a.example");
  EXPECT_EQ(value(reply, "Access-Control-Allow-Origin"), "*");
  EXPECT_FALSE(reply.has("Access-Control-Allow-Credentials"));
  EXPECT_TRUE(reply_to(policy({"*"}), "").empty()) << "no page asked";
}

TEST(Cors, APageIsToldBeforehandWhatItMaySend) {
  const CorsPolicy cors = policy({"https://a.example"});
  const auto ask = [&](std::string_view origin, std::string_view names) {
    const http::Headers request{{"Origin", origin},
                                {"Access-Control-Request-Method", "POST"},
                                {"Access-Control-Request-Headers", names}};
    http::Headers reply;
    const bool may = cors.add_preflight_headers(request, "GET, POST", reply);
    EXPECT_EQ(may, reply.has("Access-Control-Allow-Origin"));
    EXPECT_FALSE(reply.has("Access-Control-Allow-Credentials"));
    return reply;
  };
  const http::Headers yes = ask("https://a.example", "authorization, x-stainless-os");
  EXPECT_EQ(value(yes, "Access-Control-Allow-Methods"), "GET, POST");
  EXPECT_EQ(value(yes, "Access-Control-Allow-Headers"), "authorization, x-stainless-os");
  EXPECT_FALSE(ask("https://b.example", "authorization").has("Access-Control-Allow-Methods"));
  for (const std::string& names :
       {std::string("a b"), std::string("a,,b"), std::string("a,"), std::string(5000, 'a')}) {
    EXPECT_FALSE(ask("https://a.example", names).has("Access-Control-Allow-Headers"));
  }
  http::Headers reply;
  EXPECT_FALSE(cors.add_preflight_headers({{"Origin", "https://a.example"}}, "GET", reply))
      << "an OPTIONS request that is no question of a browser";
}

TEST(Cors, RefusesWhatNoBrowserSends) {
  for (const char* bad :
       {"a.example", "https://", "https://a.example/", "https://a.example/x", "HTTPS://a.example",
        "https://*.example", "", "null", "://a", "https://a.example\r\nX: y"}) {
    EXPECT_FALSE(CorsPolicy::make({bad}).has_value()) << bad;
  }
  EXPECT_THAT(CorsPolicy::make({"*", "https://a.example"}).error().message, HasSubstr("alone"));
  EXPECT_TRUE(CorsPolicy::make({"http://[::1]:8080"}).has_value());
  EXPECT_TRUE(CorsPolicy::make({"chrome-extension://abcdef"}).has_value());
}

}  // namespace
}  // namespace windrow::api
