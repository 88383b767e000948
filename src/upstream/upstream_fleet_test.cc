// The servers of a job and of a server, on loopback.
#include "upstream/upstream_fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/curl_client.h"
#include "http/testing/test_server.h"

namespace windrow::upstream {
namespace {

using http::testing::TestReply;
using http::testing::TestRequest;
using http::testing::TestServer;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

http::Url unreachable() {
  return {.tls = false, .host = "127.0.0.1", .port = http::testing::closed_port(), .target = "/v1"};
}

class UpstreamFleetTest : public ::testing::Test {
 protected:
  // "" when it was opened.
  std::string open(std::vector<UpstreamOptions> servers, bool serving,
                   const std::function<std::optional<Error>()>& refusal = {}) {
    const auto say = [this](const std::string& text) {
      const std::scoped_lock lock(mutex_);
      said_.push_back(text);
      changed_.notify_all();
    };
    fleet_ = std::make_unique<UpstreamFleet>(loop_, *client_, clock_,
                                             DiscoveryOptions{.servers = std::move(servers),
                                                              .serving = serving,
                                                              .note = say,
                                                              .warn = say,
                                                              .on_all_failed = {}});
    const Result<void> opened = fleet_->open(refusal);
    return opened ? "" : opened.error().message;
  }

  SystemClock clock_;
  http::Loop loop_{clock_};
  std::unique_ptr<http::Client> client_ =
      std::make_unique<http::CurlClient>(loop_, http::ClientOptions{});
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> said_;
  TestServer server_{[](const TestRequest& request) {
    if (request.target != "/v1/models") return TestReply{.status = 404};
    return TestReply{.body = R"({"data":[{"id":"small"},{"id":"large"}]})"};
  }};
  TestServer silent_{[](const TestRequest&) { return TestReply{.status = 404}; }};
  std::unique_ptr<UpstreamFleet> fleet_;
};

TEST_F(UpstreamFleetTest, AJobGoesWithoutAServerThatIsNotReachable) {
  EXPECT_EQ(open({{.base = unreachable()}, {.base = server_.url("/v1")}}, false), "");
  ASSERT_EQ(fleet_->size(), 1U);
  EXPECT_EQ(fleet_->position(0), 1U);
  EXPECT_THAT(said_, ElementsAre(EndsWith("; this run goes without this server")));
  EXPECT_THAT(fleet_->description(), HasSubstr("it has small, large"));
  EXPECT_TRUE(fleet_->status().front().healthy);
}

TEST_F(UpstreamFleetTest, NothingIsOpenedWhereNoServerAnswersOrTheJobIsRefused) {
  EXPECT_EQ(open({{.base = unreachable()}, {.base = unreachable()}}, true),
            "none of the 2 servers answers");
  EXPECT_THAT(open({{.base = unreachable()}}, false), HasSubstr("127.0.0.1"));
  EXPECT_EQ(open({{.base = server_.url("/v1")}}, false,
                 [] { return Error{ErrorKind::kInvalid, "line 7 is damaged"}; }),
            "line 7 is damaged");
  EXPECT_EQ(fleet_->size(), 0U);
}

TEST_F(UpstreamFleetTest, AModelIsAtTheServersThatListItAndWhereNothingIsListed) {
  EXPECT_EQ(open({{.base = server_.url("/v1"), .aliases = {{"mine", "small"}, {"gone", "none"}}},
                  {.base = silent_.url("/v1")}},
                 false),
            "");
  EXPECT_EQ(fleet_->servers_with("small"), 0b11U);
  EXPECT_EQ(fleet_->servers_with("mine"), 0b11U);
  EXPECT_EQ(fleet_->servers_with("gone"), 0b10U);
  EXPECT_EQ(fleet_->servers_with("other"), 0b10U);
  const UpstreamFleet::Models models = fleet_->models();
  EXPECT_THAT(models.names, ElementsAre("small", "large", "gone", "mine"));
  EXPECT_TRUE(models.any) << "the second server lists nothing";
}

TEST_F(UpstreamFleetTest, OneProductIsNamedWhereTheServersAgree) {
  const auto server_of = [](const std::string& owner) {
    return std::make_unique<TestServer>([owner](const TestRequest& request) {
      if (request.target != "/v1/models") return TestReply{.status = 404};
      return TestReply{.body = R"({"data":[{"id":"m","owned_by":")" + owner + R"("}]})"};
    });
  };
  const auto sglang = server_of("sglang");
  const auto vllm = server_of("vllm");
  EXPECT_EQ(open({{.base = sglang->url("/v1")},
                  {.base = vllm->url("/v1")},
                  {.base = sglang->url("/other/v1")}},
                 true),
            "");
  EXPECT_EQ(fleet_->kind_of(0b001), ServerKind::kSglang);
  EXPECT_EQ(fleet_->kind_of(0b010), ServerKind::kVllm);
  EXPECT_EQ(fleet_->kind_of(0b011), ServerKind::kUnknown) << "they are different ones";
  EXPECT_EQ(fleet_->kind_of(0), ServerKind::kUnknown);
  EXPECT_EQ(open({{.base = vllm->url("/v1")}, {.base = unreachable()}}, true), "");
  EXPECT_EQ(fleet_->kind_of(0), ServerKind::kVllm) << "the other one has not told yet";
}

TEST_F(UpstreamFleetTest, AnAbsentServerStaysInAFleetThatServes) {
  EXPECT_EQ(open({{.base = server_.url("/v1")}, {.base = unreachable()}}, true), "");
  ASSERT_EQ(fleet_->size(), 2U);
  EXPECT_THAT(said_, ElementsAre(EndsWith("; it joins when it answers")));
  EXPECT_FALSE(fleet_->status().back().healthy);
  EXPECT_EQ(fleet_->servers_with("small"), 0b01U) << "it is not known yet what the other one has";
  EXPECT_FALSE(fleet_->is_unreachable(0)) << "nothing watches";
  size_t changes = 0;
  fleet_->watch([&] {
    const std::scoped_lock lock(mutex_);
    ++changes;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return changes == 2; });  // the first answer or failure of each
  lock.unlock();
  fleet_->watch({});
  EXPECT_EQ(fleet_->servers_with("small"), 0b01U);
}

}  // namespace
}  // namespace windrow::upstream
