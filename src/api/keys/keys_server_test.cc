// Keys at a whole server: whose turn it is, what each has used, and who may read that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/testing/server_rig.h"
#include "base/testing/eventually.h"
#include "http/testing/raw_client.h"

namespace windrow::api {
namespace {

using http::testing::RawClient;
using testing::post;
using testing::read_reply;
using testing::said;
using testing::ServerRig;

class KeysServer : public ::testing::Test {
 protected:
  KeysServer() {
    for (const auto& [name, limits] :
         {std::pair("alice", "in-flight=50"), {"bob", "weight=2"}, {"monitor", "admin"}}) {
      const Result<NewKey> made = make_key(name, limits, std::string(32, name[0]));
      lines_ += made->line + "\n";
      headers_[name] = "Authorization: Bearer " + made->key + "\r\n";
    }
  }

  void open(bool open_metrics = false) {
    ApiOptions options{.open_metrics = open_metrics};
    options.keys = std::make_shared<const KeyRingHolder>(*KeyRing::parse(lines_, "keys"));
    rig_.emplace(std::move(options),
                 dispatch::DispatchOptions{.in_flight_max = 1, .waiting_max = 100});
    rig_->load();
  }

  std::unique_ptr<RawClient> ask(const std::string& key, std::string_view path,
                                 std::string_view body) {
    auto client = std::make_unique<RawClient>(rig_->server->port());
    client->send(post(path, body, headers_.at(key)));
    return client;
  }

  std::string page(const std::string& key) {
    return rig_
        ->ask(fmt::format("GET /metrics HTTP/1.1\r\nHost: x\r\n{}\r\n",
                          key.empty() ? "" : headers_.at(key)))
        .body;
  }

  bool says(const std::string& key, const std::string& line) {
    return page(key).find("\n" + line + "\n") != std::string::npos;
  }
  void wait_until_it_says(const std::string& key, const std::string& line) {
    windrow::testing::eventually([&] { return page(key); },
                                 ::testing::HasSubstr("\n" + line + "\n"));
  }

  std::string lines_;
  std::map<std::string, std::string> headers_;
  std::optional<ServerRig> rig_;
};

std::string chat(std::string_view text) {
  return fmt::format(R"({{"messages":[{{"role":"user","content":"{}"}}],"max_tokens":9}})", text);
}

TEST_F(KeysServer, AFloodOfOneKeyDoesNotDelayOtherKeys) {
  open();
  std::vector<std::unique_ptr<RawClient>> clients;
  clients.reserve(8);
  for (int i = 0; i < 6; ++i)
    clients.push_back(ask("alice", "/v1/chat/completions", chat("flood")));
  wait_until_it_says("alice", R"(windrow_key_requests{key="alice",state="running"} 1)");
  wait_until_it_says("alice", R"(windrow_key_requests{key="alice",state="waiting"} 5)");
  // In other words, and the same queue.
  clients.push_back(ask("bob", "/v1/responses", R"({"input":"little","max_output_tokens":9})"));
  wait_until_it_says("bob", R"(windrow_key_requests{key="bob",state="waiting"} 1)");
  clients.push_back(ask("bob", "/v1/messages",
                        R"({"max_tokens":9,"messages":[{"role":"user","content":"little"}]})"));
  wait_until_it_says("bob", R"(windrow_key_requests{key="bob",state="waiting"} 2)");
  std::string order;
  for (size_t sent = 1; sent <= clients.size(); ++sent) {
    const llm::Request request = rig_->backend.wait_for(sent);
    order += request.chat.messages.back().at("content").as_string().front();
    rig_->backend.end(said("a"));
  }
  EXPECT_EQ(order, "fllfffff");
  for (const auto& client : clients)
    EXPECT_EQ(read_reply(*client).status, 200);
  wait_until_it_says("bob", R"(windrow_key_calls_total{key="bob",outcome="answered"} 2)");
  EXPECT_TRUE(says("bob", R"(windrow_key_completion_tokens_total{key="bob"} 4)"));
  EXPECT_TRUE(says("bob", R"(windrow_key_prompt_tokens_total{key="bob"} 6)"));
}

TEST_F(KeysServer, WhatAKeyHasUsedIsItsOwnAffairAndTheAdmins) {
  open();
  for (const char* key : {"alice", "bob"}) {
    const auto client = ask(key, "/v1/chat/completions", chat(key));
    rig_->backend.wait_for(key[0] == 'a' ? 1 : 2);
    rig_->backend.end(said("a"));
    EXPECT_EQ(read_reply(*client).status, 200);
  }
  const std::string of_alice = R"(windrow_key_calls_total{key="alice",outcome="answered"} 1)";
  const std::string of_bob = R"(windrow_key_calls_total{key="bob",outcome="answered"} 1)";
  wait_until_it_says("monitor", of_alice);
  wait_until_it_says("monitor", of_bob);
  EXPECT_TRUE(says("alice", of_alice));
  EXPECT_EQ(page("alice").find("bob"), std::string::npos);
  EXPECT_EQ(page("bob").find("alice"), std::string::npos);
}

TEST_F(KeysServer, APageThatIsOpenToAllShowsAll) {
  open(true);
  const auto client = ask("alice", "/v1/chat/completions", chat("a"));
  rig_->backend.wait_for(1);
  rig_->backend.end(said("a"));
  EXPECT_EQ(read_reply(*client).status, 200);
  wait_until_it_says("", R"(windrow_key_calls_total{key="alice",outcome="answered"} 1)");
}

}  // namespace
}  // namespace windrow::api
