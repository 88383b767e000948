#include "api/pages/pages.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "api/testing/talking_backend.h"
#include "base/crypto.h"
#include "base/testing/manual_clock.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

// "admin" may see all; "user" may not.
std::shared_ptr<const KeyRingHolder> two_keys() {
  const auto line = [](std::string_view name, std::string_view rest) {
    Sha256 hash;
    hash.add(name);
    return fmt::format("{} sha256:{} {}\n", name, hash.finish(), rest);
  };
  return std::make_shared<KeyRingHolder>(
      *KeyRing::parse(line("admin", "admin") + line("user", ""), "keys"));
}

struct Failing final : llm::ModelResidency {
  llm::ModelStatus status() const override {
    return {.state = llm::LoadState::kAbsent, .load_error = error};
  }
  void load() override { ++loads; }
  llm::UnloadResult unload() override { return llm::UnloadResult::kUnloading; }
  void unload_when_unused() override {}
  std::string error;
  int loads = 0;
};

class PagesTest : public ::testing::Test {
 protected:
  using Page = http::ServerReply (Pages::*)(const http::ServerRequest&,
                                            const RequestContext&) const;

  struct Asked {
    std::string query;
    std::string part;  // of the path
    std::string key;   // its name; empty: none
  };

  http::ServerReply show(Page page, const Asked& asked = {}) {
    http::Headers headers;
    if (!asked.key.empty()) headers.set("Authorization", "Bearer " + asked.key);
    std::string body;
    const std::string_view part = asked.part;
    const http::ServerRequest request{.method = "GET",
                                      .path = "/",
                                      .query = asked.query,
                                      .parts = {&part, asked.part.empty() ? 0U : 1U},
                                      .peer = "192.0.2.7",
                                      .headers = headers,
                                      .body = body};
    auto admitted = front_->admit(request, asked.key.empty() ? Access::kOpen : access_);
    if (auto* refused = std::get_if<http::ServerReply>(&admitted)) return *refused;
    return ((*pages_).*page)(request, std::get<RequestContext>(admitted));
  }

  static Asked of_model(const std::string& name) {
    return {.query = "model=" + name, .part = {}, .key = {}};
  }

  void make(std::shared_ptr<const KeyRingHolder> keys = nullptr) {
    accounts_ = std::make_shared<KeyAccounts>(clock_, std::move(keys));
    front_.emplace(clock_, accounts_, metrics_, GuardOptions{});
    pages_.emplace(PageSources{.clock = clock_,
                               .registry = registry_,
                               .gate = gate_,
                               .accounts = *accounts_,
                               .metrics = metrics_,
                               .live = live_,
                               .admission = admission_,
                               .answer_room = answer_room_,
                               .responses = responses_,
                               .port = [] { return PortReading{.connections = 3, .arriving = 2}; }},
                   PageOptions{.version = "1.2"});
  }

  windrow::testing::ManualClock clock_;
  testing::TalkingBackend backend_;
  dispatch::Dispatcher dispatcher_{backend_, {}};
  std::shared_ptr<Failing> residence_ = std::make_shared<Failing>();
  ModelRegistry registry_;
  std::set<uint64_t> away_;
  CallGate gate_{registry_, [this](uint64_t upstreams) { return away_.contains(upstreams); }};
  ServeMetrics metrics_;
  LiveRequests live_;
  BodyMemoryBudget admission_{1000};
  llm::AnswerRoom answer_room_{1000};
  ResponseStore responses_{1000};
  std::shared_ptr<KeyAccounts> accounts_;
  std::optional<RequestGuard> front_;
  std::optional<Pages> pages_;
  Access access_ = Access::kKey;
};

TEST_F(PagesTest, ReadySaysOfEachModelWhetherItCanBeAsked) {
  make();
  EXPECT_EQ(show(&Pages::health).status, 200);
  EXPECT_EQ(show(&Pages::ready).status, 503);
  registry_.add({.name = "here", .dispatcher = &dispatcher_, .residence = residence_});
  registry_.add({.name = "org/there", .dispatcher = &dispatcher_, .upstreams = 7});
  registry_.set_state(ServeState::kReady);
  EXPECT_EQ(show(&Pages::ready).body, R"({"status":"ready"})");
  away_ = {7};
  EXPECT_EQ(json::parse(show(&Pages::ready).body),
            json::parse(R"({"status":"ready","unreachable":["org/there"]})"));
  EXPECT_EQ(show(&Pages::ready, of_model("here")).status, 200);
  EXPECT_EQ(show(&Pages::ready, of_model("org%2Fthere")).status, 503);
  EXPECT_EQ(show(&Pages::ready, of_model("else")).status, 404);

  residence_->error = "the file is gone";
  const auto failed = show(&Pages::ready, of_model("here"));
  EXPECT_EQ(failed.status, 503);
  EXPECT_THAT(failed.body, HasSubstr("the file is gone"));
  EXPECT_EQ(show(&Pages::ready).status, 200) << "others answer";

  gate_.close(clock_.now());
  EXPECT_EQ(show(&Pages::ready).status, 503);
  EXPECT_EQ(show(&Pages::health).status, 200);
  EXPECT_EQ(show(&Pages::models).status, 200) << "what is inside may still ask";
}

TEST_F(PagesTest, OrdersAreForAdminsAndForAServerThatIsReady) {
  make(two_keys());
  registry_.add({.name = "here", .dispatcher = &dispatcher_, .residence = residence_});
  const Asked by_admin{.query = {}, .part = "here", .key = "admin"};
  EXPECT_EQ(show(&Pages::load, by_admin).status, 503);
  registry_.set_state(ServeState::kReady);
  EXPECT_EQ(show(&Pages::load, {.query = {}, .part = "here", .key = "user"}).status, 403);
  EXPECT_EQ(residence_->loads, 0);
  EXPECT_EQ(show(&Pages::load, by_admin).status, 200);
  EXPECT_EQ(residence_->loads, 1);
  EXPECT_EQ(show(&Pages::unload, by_admin).status, 200);
  EXPECT_EQ(show(&Pages::load, {.query = {}, .part = "else", .key = "admin"}).status, 404);
}

TEST_F(PagesTest, MetricsSayWhatIsKeptOfResponses) {
  make();
  EXPECT_THAT(show(&Pages::metrics).body, HasSubstr("\nwindrow_responses_kept 0\n"));
  responses_.keep("", {.id = "resp_1", .body = "{}"});
  const std::string kept = show(&Pages::metrics).body;
  EXPECT_THAT(kept, HasSubstr("\nwindrow_responses_kept 1\n"));
  EXPECT_THAT(kept,
              HasSubstr(fmt::format("\nwindrow_responses_kept_bytes {}\n", responses_.bytes())));
  ASSERT_TRUE(responses_.erase("", "resp_1"));
  const std::string erased = show(&Pages::metrics).body;
  EXPECT_THAT(erased, HasSubstr("\nwindrow_responses_kept 0\n"));
  EXPECT_THAT(erased, HasSubstr("\nwindrow_responses_kept_bytes 0\n"));
}

TEST_F(PagesTest, KeysSeeWhatIsTheirs) {
  make(two_keys());
  registry_.set_state(ServeState::kReady);
  access_ = Access::kCall;  // both have asked
  for (const char* key : {"admin", "user"})
    show(&Pages::models, {.query = {}, .part = {}, .key = key});
  access_ = Access::kKey;
  const auto ticket = live_.add({.id = "chatcmpl-1", .key = "admin", .arrived_at = clock_.now()});

  const Asked admin{.query = {}, .part = {}, .key = "admin"};
  const Asked user{.query = {}, .part = {}, .key = "user"};
  EXPECT_THAT(show(&Pages::requests, admin).body, HasSubstr("chatcmpl-1"));
  EXPECT_THAT(show(&Pages::requests, user).body, Not(HasSubstr("chatcmpl-1")));
  const std::string theirs = show(&Pages::metrics, user).body;
  EXPECT_THAT(theirs, Not(HasSubstr("key=\"admin\"")));
  EXPECT_THAT(theirs, HasSubstr("windrow_http_connections 3"));
  EXPECT_THAT(show(&Pages::metrics, admin).body, HasSubstr("key=\"admin\""));
}

}  // namespace
}  // namespace windrow::api
