// What the endpoints of memory banks refuse, to whom, and in which words.
#include "api/memory/memory_calls.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/memory/memory_routes.h"
#include "api/testing/memory_rig.h"
#include "base/testing/eventually.h"
#include "http/testing/raw_client.h"
#include "memory/testing/scripted_models.h"
#include "store/posix_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using memory::testing::ScriptedModels;
using ::testing::HasSubstr;
using testing::kBank;
using testing::MemoryCallsTest;
using ::testing::Not;
using testing::Reply;

TEST_F(MemoryCallsTest, ConsolidationSaysWhatItNeeds) {
  open();
  retain("a");
  const Reply refused = ask("POST", fmt::format("{}/consolidate", kBank));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(detail(refused), HasSubstr("--memory-model"));
  const Reply scoped =
      ask("POST", fmt::format("{}/consolidate", kBank), R"({"observation_scopes":[["a"]]})");
  EXPECT_EQ(scoped.status, 501);
  EXPECT_EQ(good("POST", fmt::format("{}/consolidation/recover", kBank)).at("retried_count"), 0);
}

TEST_F(MemoryCallsTest, ErrorsHaveTheShapeOfFastApi) {
  open();
  const Reply wrong = ask("POST", fmt::format("{}/memories", kBank),
                          R"({"items":[{"content":"a","tags":["a",7]}]})");
  EXPECT_EQ(wrong.status, 422);
  const json::value at = wrong.json().at("detail").at(0);
  EXPECT_EQ(at.at("loc"), json::parse(R"(["body","items",0,"tags",1])"));
  EXPECT_EQ(at.at("type"), "invalid_value");
  EXPECT_THAT(std::string(at.at("msg").as_string()), HasSubstr("must be a string"));
  EXPECT_NE(wrong.header("X-Request-Id"), "");

  const Reply long_id =
      ask("GET", fmt::format("/v1/default/banks/{}/stats", std::string(193, 'x')));
  EXPECT_EQ(long_id.status, 422);
  EXPECT_EQ(long_id.json().at("detail").at(0).at("loc"), json::parse(R"(["path","bank_id"])"));
  EXPECT_EQ(ask("GET", fmt::format("{}/memories/list?limit=-1", kBank))
                .json()
                .at("detail")
                .at(0)
                .at("loc"),
            json::parse(R"(["query","limit"])"));
  EXPECT_EQ(ask("POST", fmt::format("{}/memories/recall", kBank), "{").status, 422);
  EXPECT_EQ(ask("GET", "/v1/default/banks/team/nothing").status, 404);
  EXPECT_EQ(ask("GET", fmt::format("{}/reflect", kBank)).status, 405);
}

TEST_F(MemoryCallsTest, ABankBelongsToTheKeyThatMadeIt) {
  make_key_of("alice", "in-flight=50");
  make_key_of("bob", "in-flight=50");
  make_key_of("monitor", "admin");
  open();
  good("PUT", std::string(kBank), R"({"name":"n"})", "alice");
  good("GET", fmt::format("{}/profile", kBank), "", "alice");
  good("GET", fmt::format("{}/profile", kBank), "", "monitor");
  EXPECT_EQ(ask("GET", fmt::format("{}/profile", kBank), "", "bob").status, 404);
  EXPECT_EQ(ask("PUT", std::string(kBank), "{}", "bob").status, 404);
  EXPECT_EQ(ask("POST", fmt::format("{}/memories", kBank), R"({"items":[{"content":"a"}]})", "bob")
                .status,
            404);
  EXPECT_EQ(ask("POST", fmt::format("{}/consolidate", kBank), "", "bob").status, 404);
  EXPECT_EQ(good("DELETE", std::string(kBank), "", "bob").at("deleted_count"), 0)
      << "as for a bank that is not there";
  good("GET", fmt::format("{}/profile", kBank), "", "alice");
  EXPECT_TRUE(good("GET", "/v1/default/banks", "", "bob").at("banks").as_array().empty());
  EXPECT_EQ(ask("GET", fmt::format("{}/profile", kBank)).status, 401);
}

TEST_F(MemoryCallsTest, WhatIsNotThereSaysWhatToUse) {
  open();
  std::set<std::string_view> asked;
  for (const MemoryRoute& route : memory_routes()) {
    if (route.endpoint != nullptr) continue;
    std::string path(route.path);
    for (size_t at = path.find('{'); at != std::string::npos; at = path.find('{'))
      path.replace(at, path.find('}') - at + 1, "x");
    const Reply reply = ask(route.method, path, route.method == "GET" ? "" : "{}");
    EXPECT_EQ(reply.status, 501) << route.method << " " << path;
    EXPECT_EQ(detail(reply), route.instead);
    EXPECT_FALSE(route.instead.empty()) << path;
    asked.insert(route.path);
  }
  EXPECT_GT(asked.size(), 20U);
}

TEST_F(MemoryCallsTest, WithoutBanksEveryPathSaysHowToHaveThem) {
  ApiOptions options;
  options.parts = {memory_part(nullptr)};
  rig_.emplace(std::move(options));
  for (const char* path : {"/version", "/health/ready", "/v1/default/banks",
                           "/v1/default/banks/b/memories/list", "/v1/default/banks/b/graph"}) {
    const Reply reply = ask("GET", path);
    EXPECT_EQ(reply.status, 501) << path;
    EXPECT_THAT(detail(reply), HasSubstr("--data-dir")) << path;
  }
}

TEST_F(MemoryCallsTest, ADamagedBankIsTheServersFaultAndItsFileIsNotNamed) {
  open();
  std::ofstream(folder_ / "banks/bad.bank") << std::string(5000, 'x');
  const Reply reply = ask("GET", "/v1/default/banks/bad/stats");
  EXPECT_EQ(reply.status, 500);
  EXPECT_THAT(detail(reply), HasSubstr("its log says why"));
  EXPECT_THAT(reply.body, Not(HasSubstr("bad.bank")));
}

// A model whose answers wait for permission.
class HeldAnswers {
 public:
  memory::ChatOutcome operator()() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
    return memory::ChatReply{.text = "done"};
  }
  void let_go() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST_F(MemoryCallsTest, TooManyRequestsThatWaitForModelsAreRefusedAndOthersGoOn) {
  HeldAnswers held;
  models_.on_chat = [&](const memory::ChatCall&) { return held(); };
  open({.model_threads = 1, .waiting_max = 1});
  good("PUT", std::string(kBank), "{}");
  const std::string request = testing::post(fmt::format("{}/reflect", kBank), R"({"query":"a"})");
  std::vector<std::unique_ptr<http::testing::RawClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<http::testing::RawClient>(rig_->server->port()));
    clients.back()->send(request);
  }
  windrow::testing::eventually([&] { return ask("GET", "/metrics").body; },
                               HasSubstr("windrow_memory_requests{waits_for=\"models\"} 2\n"));
  const Reply refused = rig_->ask(request);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "2");
  EXPECT_EQ(good("GET", fmt::format("{}/stats", kBank)).at("total_nodes"), 0)
      << "lists do not wait for models";
  held.let_go();
  for (const auto& client : clients)
    EXPECT_EQ(testing::read_reply(*client).status, 200);
}

TEST_F(MemoryCallsTest, RequestsWhoseBodiesTakeTooMuchMemoryAreRefused) {
  HeldAnswers held;
  models_.on_chat = [&](const memory::ChatCall&) { return held(); };
  open({.body_bytes_max = 1});
  good("PUT", std::string(kBank), "{}");
  windrow::testing::eventually([&] { return ask("GET", "/metrics").body; },
                               HasSubstr("windrow_memory_requests{waits_for=\"disk\"} 0\n"));
  const std::string request = testing::post(fmt::format("{}/reflect", kBank), R"({"query":"a"})");
  http::testing::RawClient first(rig_->server->port());
  first.send(request);
  windrow::testing::eventually([&] { return ask("GET", "/metrics").body; },
                               HasSubstr("windrow_memory_requests{waits_for=\"models\"} 1\n"));
  const Reply refused = rig_->ask(request);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("bodies of the requests for memory banks"));
  held.let_go();
  EXPECT_EQ(testing::read_reply(first).status, 200);
}

}  // namespace
}  // namespace windrow::api
