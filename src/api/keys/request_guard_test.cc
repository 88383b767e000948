#include "api/keys/request_guard.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/crypto.h"
#include "base/testing/manual_clock.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string line_of(std::string_view name, std::string_view key, std::string_view limits = "") {
  Sha256 hash;
  hash.add(key);
  return fmt::format("{} sha256:{} {}\n", name, hash.finish(), limits);
}

class FrontTest : public ::testing::Test {
 protected:
  using Headers = std::initializer_list<http::Headers::Field>;

  void demand(const std::string& file) {
    keys_ = std::make_shared<KeyRingHolder>(*KeyRing::parse(file, "keys"));
  }

  void make(GuardOptions options = {}) {
    options.log = [this](std::string line) { log_.push_back(std::move(line)); };
    front_.emplace(clock_, std::make_shared<KeyAccounts>(clock_, keys_), metrics_,
                   std::move(options));
  }

  // One request, admitted or not.
  std::variant<RequestContext, http::ServerReply> come(Access access, Headers fields,
                                                       std::string body = "") {
    const http::Headers headers(fields);
    const http::ServerRequest request{.method = "POST",
                                      .path = "/v1/chat/completions",
                                      .query = "key=wr-query",
                                      .peer = "192.0.2.7",
                                      .headers = headers,
                                      .body = body};
    return front_->admit(request, access);
  }

  int status(Access access, Headers fields) {
    const auto came = come(access, fields);
    const auto* reply = std::get_if<http::ServerReply>(&came);
    return reply == nullptr ? 200 : reply->status;
  }

  testing::ManualClock clock_;
  ServeMetrics metrics_;
  std::shared_ptr<KeyRingHolder> keys_;
  std::vector<std::string> log_;
  std::optional<RequestGuard> front_;
};

// Before a long body has come: whether there is a key, and no more.
TEST_F(FrontTest, AtTheHeadOnlyTheKeyIsLookedAt) {
  std::string none;
  const auto at_head = [&](Headers fields) {
    const http::Headers headers(fields);
    return front_->refuse_at_head({.method = "POST",
                                   .path = "/v1/chat/completions",
                                   .query = "",
                                   .peer = "192.0.2.7",
                                   .headers = headers,
                                   .body = none});
  };
  make();
  EXPECT_FALSE(at_head({}));
  demand(line_of("alice", "wr-alice", "rpm=1"));
  make();
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(at_head({{"Authorization", "Bearer wr-alice"}}));
  EXPECT_THAT(log_, ::testing::IsEmpty());
  EXPECT_EQ(status(Access::kCall, {{"Authorization", "Bearer wr-alice"}}), 200);
  log_.clear();
  EXPECT_EQ(at_head({{"Authorization", "Bearer wr-bob"}})->status, 401);
  const auto reply = at_head({});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 401);
  EXPECT_TRUE(reply->headers.get("X-Request-Id"));
  EXPECT_TRUE(reply->headers.get("WWW-Authenticate"));
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_THAT(log_[1], HasSubstr("invalid_api_key"));
}

TEST_F(FrontTest, WithoutKeysEverybodyMayAskAndSeesAll) {
  make();
  for (const Access access : {Access::kOpen, Access::kMetrics, Access::kKey, Access::kCall}) {
    auto came = come(access, {{"Authorization", "Bearer whatever"}});
    ASSERT_TRUE(std::holds_alternative<RequestContext>(came));
    EXPECT_TRUE(std::get<RequestContext>(came).sees_all());
    EXPECT_EQ(std::get<RequestContext>(came).record().key, "");
    EXPECT_FALSE(std::get<RequestContext>(came).take_tokens(1'000'000'000));
  }
}

TEST_F(FrontTest, EachPathAsksWhatItShould) {
  demand(line_of("alice", "wr-alice") + line_of("monitor", "wr-monitor", "admin"));
  make();
  EXPECT_EQ(status(Access::kOpen, {}), 200);
  for (const Access access : {Access::kMetrics, Access::kKey, Access::kCall}) {
    EXPECT_EQ(status(access, {}), 401);
    EXPECT_EQ(status(access, {{"Authorization", "Bearer wr-bob"}}), 401);
    EXPECT_EQ(status(access, {{"Authorization", "Bearer wr-alice"}}), 200);
    EXPECT_EQ(status(access, {{"X-Api-Key", "wr-alice"}}), 200);
  }
  const auto alice = come(Access::kKey, {{"X-Api-Key", "wr-alice"}});
  EXPECT_FALSE(std::get<RequestContext>(alice).sees_all());
  EXPECT_EQ(std::get<RequestContext>(alice).record().key, "alice");
  EXPECT_TRUE(
      std::get<RequestContext>(come(Access::kKey, {{"X-Api-Key", "wr-monitor"}})).sees_all());
  make({.open_metrics = true});
  EXPECT_EQ(status(Access::kMetrics, {}), 200);
  EXPECT_EQ(status(Access::kKey, {}), 401);
}

TEST_F(FrontTest, ARefusalHasTheApisWordsAndNoKey) {
  demand(line_of("alice", "wr-alice"));
  make();
  for (const auto& fields : {Headers{}, Headers{{"Authorization", "Bearer wr-guessed"}}}) {
    const auto came = come(Access::kCall, fields);
    const auto& reply = std::get<http::ServerReply>(came);
    EXPECT_THAT(reply.headers.get("WWW-Authenticate").value_or(""), StartsWith("Bearer"));
    EXPECT_TRUE(reply.headers.has("X-Request-Id"));
    EXPECT_EQ(json::parse(reply.body).at("error").at("code"), "invalid_api_key");
    EXPECT_THAT(reply.body, Not(HasSubstr("guessed")));
    EXPECT_THAT(log_.back(), HasSubstr(R"("status":401,"code":"invalid_api_key")"));
    EXPECT_THAT(log_.back(), Not(HasSubstr("guessed")));
    EXPECT_THAT(log_.back(), Not(HasSubstr("wr-query")));
  }
  EXPECT_EQ(metrics_.read().errors.at(0).second, 2);
}

TEST_F(FrontTest, InFlightIsSettledWhenTheAdmittedEnds) {
  demand(line_of("alice", "a", "in-flight=2") + line_of("bob", "b", "in-flight=1"));
  make();
  const auto ask = [&](std::string_view key) { return come(Access::kCall, {{"X-Api-Key", key}}); };
  {
    auto first = ask("a");
    const auto second = ask("a");
    const auto third = ask("a");
    EXPECT_EQ(std::get<http::ServerReply>(third).status, 429);
    EXPECT_TRUE(std::get<http::ServerReply>(third).headers.has("Retry-After"));
    EXPECT_EQ(status(Access::kCall, {{"X-Api-Key", "b"}}), 200) << "limits are each key's own";
    EXPECT_EQ(status(Access::kKey, {{"X-Api-Key", "a"}}), 200) << "only calls count";
    const RequestContext moved = std::get<RequestContext>(std::move(first));
    EXPECT_EQ(status(Access::kCall, {{"X-Api-Key", "a"}}), 429) << "moving is no end";
  }
  const auto first = ask("a");
  EXPECT_EQ(status(Access::kCall, {{"X-Api-Key", "a"}}), 200);
}

TEST_F(FrontTest, TokensAreSettledByTheRecord) {
  demand(line_of("alice", "a", "rpm=100 tpm=1000"));
  make();
  const auto left = [&](RequestContext& admitted, std::string_view what) {
    http::Headers headers;
    admitted.add_headers(headers);
    return std::string(headers.get(fmt::format("x-ratelimit-remaining-{}", what)).value_or(""));
  };
  {
    auto came = come(Access::kCall, {{"X-Api-Key", "a"}});
    auto& admitted = std::get<RequestContext>(came);
    EXPECT_FALSE(admitted.take_tokens(800));
    EXPECT_EQ(left(admitted, "tokens"), "200");
    admitted.record().usage = {.prompt_tokens = 50, .completion_tokens = 100};
    auto refused = come(Access::kCall, {{"X-Api-Key", "a"}});
    const auto failure = std::get<RequestContext>(refused).take_tokens(500);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->status, 429);
    EXPECT_EQ(left(admitted, "requests"), "99") << "what was refused does not count";
  }
  auto came = come(Access::kCall, {{"X-Api-Key", "a"}});
  EXPECT_EQ(left(std::get<RequestContext>(came), "tokens"), "850");
}

TEST_F(FrontTest, KeysOfNowHoldAndWhatWasUsedIsNotForgotten) {
  demand(line_of("alice", "a", "rpm=2"));
  make();
  EXPECT_EQ(status(Access::kCall, {{"X-Api-Key", "a"}}), 200);
  EXPECT_EQ(status(Access::kCall, {{"X-Api-Key", "a"}}), 200);
  EXPECT_EQ(status(Access::kCall, {{"X-Api-Key", "a"}}), 429);
  keys_->set(*KeyRing::parse(line_of("bob", "b") + line_of("alice", "a2", "rpm=3"), "keys"));
  EXPECT_EQ(status(Access::kCall, {{"X-Api-Key", "a"}}), 401);
  EXPECT_EQ(status(Access::kCall, {{"X-Api-Key", "a2"}}), 200) << "one more than before";
  EXPECT_EQ(status(Access::kCall, {{"X-Api-Key", "a2"}}), 429);
  clock_.advance(std::chrono::seconds(20));
  EXPECT_EQ(status(Access::kCall, {{"X-Api-Key", "a2"}}), 200);
}

TEST_F(FrontTest, AKeyBoundsHowUrgentARequestMayBe) {
  demand(line_of("nightly", "n", "priority=batch"));
  make();
  auto came = come(Access::kCall, {{"X-Api-Key", "n"}});
  EXPECT_EQ(std::get<RequestContext>(came).priority_max(), dispatch::Priority::kBatch);
}

TEST_F(FrontTest, TheEndIsLoggedAndCountedOnce) {
  make({.id_seed = 5});
  {
    auto came = come(Access::kCall, {}, "a body");
    clock_.advance(std::chrono::milliseconds(30));
    auto& record = std::get<RequestContext>(came).record();
    EXPECT_TRUE(log_.empty());
    record.endpoint = llm::Endpoint::kChatCompletions;
    record.model = "m";
    record.status = 200;
  }
  ASSERT_EQ(log_.size(), 1U);
  const json::value line = json::parse(log_[0]);
  EXPECT_EQ(line.at("duration_ms"), 30);
  EXPECT_EQ(line.at("body_bytes"), 6);
  EXPECT_EQ(line.at("peer"), "192.0.2.7");
  EXPECT_EQ(line.at("status"), 200);
  EXPECT_EQ(line.as_object().contains("body"), false);
  EXPECT_EQ(metrics_.read().calls.at(0).count, 1);
  std::get<RequestContext>(come(Access::kCall, {}));
  EXPECT_THAT(log_.back(), HasSubstr(R"("status":500,"code":"internal_error")"))
      << "one that nobody answered";
}

TEST_F(FrontTest, PromptsAreLoggedOnlyWhenAskedFor) {
  make({.log_prompts = true});
  std::get<RequestContext>(come(Access::kCall, {}, "{\"a\n\"}"));
  EXPECT_EQ(json::parse(log_.back()).at("body"), "{\"a\n\"}");
}

TEST_F(FrontTest, IdsAreNeverTwice) {
  make();
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    auto came = come(Access::kOpen, {});
    http::Headers headers;
    std::get<RequestContext>(came).add_headers(headers);
    const std::string id(headers.get("X-Request-Id").value_or(""));
    EXPECT_THAT(id, StartsWith("req_"));
    EXPECT_TRUE(ids.insert(id).second);
  }
}

TEST_F(FrontTest, PagesThatMayAreTold) {
  demand(line_of("alice", "a"));
  make({.cors = *CorsPolicy::make({"https://a.example"})});
  const auto came = come(Access::kCall, {{"Origin", "https://a.example"}});
  EXPECT_EQ(std::get<http::ServerReply>(came).headers.get("Access-Control-Allow-Origin"),
            "https://a.example")
      << "a page can read that its key is wrong";
  auto fine = come(Access::kCall, {{"Origin", "https://b.example"}, {"X-Api-Key", "a"}});
  http::Headers headers;
  std::get<RequestContext>(fine).add_headers(headers);
  EXPECT_FALSE(headers.has("Access-Control-Allow-Origin"));

  const http::Headers asked{{"Origin", "https://a.example"},
                            {"Access-Control-Request-Method", "POST"}};
  std::string body;
  const http::ServerReply reply = front_->preflight(
      {.method = "OPTIONS", .path = "/x", .headers = asked, .body = body}, "GET, POST");
  EXPECT_EQ(reply.status, 204);
  EXPECT_EQ(reply.headers.get("Allow"), "GET, POST");
  EXPECT_EQ(reply.headers.get("Access-Control-Allow-Methods"), "GET, POST");
}

TEST_F(FrontTest, ManyThreadsEndTheirRequests) {
  demand(line_of("alice", "a", "in-flight=64 tpm=1000000000"));
  front_.emplace(clock_, std::make_shared<KeyAccounts>(clock_, keys_), metrics_, GuardOptions{});
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        auto came = come(Access::kCall, {{"X-Api-Key", "a"}});
        ASSERT_TRUE(std::holds_alternative<RequestContext>(came));
        EXPECT_FALSE(std::get<RequestContext>(came).take_tokens(7));
        std::get<RequestContext>(came).record().status = 200;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  auto came = come(Access::kCall, {{"X-Api-Key", "a"}});
  http::Headers headers;
  std::get<RequestContext>(came).add_headers(headers);
  EXPECT_EQ(headers.get("x-ratelimit-remaining-tokens"), "1000000000");
}

TEST_F(FrontTest, ARequestWhoseClientLeavesHasUsedWhatWasTaken) {
  demand(line_of("alice", "wr-alice", "tpm=1000"));
  make();
  const auto remaining = [&] {
    auto came = come(Access::kCall, {{"X-Api-Key", "wr-alice"}});
    http::Headers headers;
    std::get<RequestContext>(came).add_headers(headers);
    return std::string(headers.get("x-ratelimit-remaining-tokens").value_or(""));
  };
  {
    auto came = come(Access::kCall, {{"X-Api-Key", "wr-alice"}});
    EXPECT_FALSE(std::get<RequestContext>(came).take_tokens(300));
    std::get<RequestContext>(came).record().status = 429;  // it never began
  }
  EXPECT_EQ(remaining(), "1000");
  {
    auto came = come(Access::kCall, {{"X-Api-Key", "wr-alice"}});
    EXPECT_FALSE(std::get<RequestContext>(came).take_tokens(300));
    std::get<RequestContext>(came).record().status = 499;
    std::get<RequestContext>(came).record().cut_off = true;
  }
  EXPECT_EQ(remaining(), "700");
}

TEST_F(FrontTest, RequestsWithoutARouteAreLoggedAndCounted) {
  GuardOptions options;
  options.cors = *CorsPolicy::make({"https://a.example"});
  make(options);
  const http::Headers headers({{"Origin", "https://a.example"}});
  http::Refusal refusal{.status = 404,
                        .message = "there is nothing at /x",
                        .method = "GET",
                        .path = "/x",
                        .peer = "192.0.2.7",
                        .headers = headers};
  const http::ServerReply reply = front_->refuse(refusal);
  EXPECT_EQ(reply.status, 404);
  EXPECT_TRUE(reply.headers.has("X-Request-Id"));
  EXPECT_EQ(reply.headers.get("Access-Control-Allow-Origin"), "https://a.example");
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_THAT(log_.back(), HasSubstr(R"("status":404,"code":"not_found")"));
  EXPECT_THAT(log_.back(), HasSubstr(R"("peer":"192.0.2.7")"));
  const ServeMetrics::Reading counted = metrics_.read();
  ASSERT_EQ(counted.errors.size(), 1U);
  EXPECT_EQ(counted.errors[0].first, "not_found");
  // A base URL with /v1 in a client that adds it: the one that is meant is named.
  const http::Headers asked({{"Host", "127.0.0.1:8080"}});
  const auto said_of = [&](std::string_view path) {
    const http::Refusal doubled{.status = 404,
                                .message = "there is nothing there",
                                .method = "POST",
                                .path = path,
                                .peer = "192.0.2.7",
                                .headers = asked};
    return front_->refuse(doubled).body;
  };
  EXPECT_THAT(said_of("/v1/v1/messages"),
              AllOf(HasSubstr(R"("type":"error")"), HasSubstr("such as http://127.0.0.1:8080\"")));
  EXPECT_THAT(said_of("/v1/v1/chat/completions"), HasSubstr("such as http://127.0.0.1:8080/v1\""));
  EXPECT_THAT(said_of("/v1/v2/x"), Not(HasSubstr("base URL")));
  // The limit has the name of its flag.
  refusal.status = 413;
  EXPECT_THAT(front_->refuse(refusal).body, HasSubstr("--max-body-mb"));
  refusal.path = "/v1/files";
  EXPECT_THAT(front_->refuse(refusal).body, HasSubstr("--max-file-mb"));
  log_.resize(1);
  // What a handler gave up is in its own line.
  refusal.status = 500;
  refusal.handled = true;
  EXPECT_EQ(front_->refuse(refusal).status, 500);
  EXPECT_EQ(log_.size(), 1U);
}

}  // namespace
}  // namespace windrow::api
