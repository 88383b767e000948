// Conversations of /v1/responses over a real port: kept responses are continued, referred to, shown
// and deleted.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <future>
#include <latch>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/calls/active_calls.h"
#include "api/testing/events.h"
#include "api/testing/server_rig.h"
#include "base/testing/eventually.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using http::testing::RawClient;
using ::testing::ElementsAre;
using testing::events_in;
using testing::get;
using ::testing::IsEmpty;
using testing::post;
using testing::read_reply;
using testing::Reply;
using testing::said;
using testing::ServerRig;

class ResponsesServer : public ::testing::Test {
 protected:
  explicit ResponsesServer(ApiOptions options = {}) : rig_(std::move(options)) { rig_.load(); }

  Reply ask(const json::object& body, llm::Outcome outcome) {
    RawClient client(rig_.server->port());
    client.send(post("/v1/responses", json::serialize(body)));
    asked_ = rig_.backend.wait_for(++count_);
    rig_.backend.end(std::move(outcome));
    return read_reply(client);
  }

  // One that never reaches a model.
  Reply refused(const json::object& body) {
    return rig_.ask(post("/v1/responses", json::serialize(body)));
  }

  Reply show(const std::string& path) { return rig_.ask(get("/v1/responses/" + path)); }
  Reply erase(const std::string& id) {
    return rig_.ask("DELETE /v1/responses/" + id +
                    " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  }

  static std::string id_of(const Reply& reply) {
    return std::string(reply.json().at("id").as_string());
  }

  ServerRig rig_;
  llm::Request asked_;
  size_t count_ = 0;
};

llm::Answer calling_weather() {
  return {.choices = {{.text = "Let me see.",
                       .reasoning = "hm",
                       .tool_calls = {{.id = "call_1", .name = "weather", .arguments = "{}"}},
                       .finish_reason = llm::FinishReason::kToolCalls}}};
}

TEST_F(ResponsesServer, ThreeTurnsWithAToolContinueEachOther) {
  const json::array tools{{{"type", "function"}, {"name", "weather"}}};
  const Reply first =
      ask({{"input", "Rain?"}, {"instructions", "be brief"}, {"tools", tools}}, calling_weather());
  EXPECT_EQ(first.json().at("store"), true);
  const Reply second = ask(
      {{"previous_response_id", id_of(first)},
       {"tools", tools},
       {"input",
        json::array{{{"type", "function_call_output"}, {"call_id", "call_1"}, {"output", "dry"}}}}},
      said("No rain."));
  EXPECT_EQ(second.json().at("previous_response_id"), json::value(id_of(first)));
  EXPECT_EQ(json::value(asked_.chat.messages), json::parse(R"([
      {"role":"user","content":"Rain?"},
      {"role":"assistant","content":"Let me see.","reasoning_content":"hm","tool_calls":[
        {"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"call_1","content":"dry"}])"))
      << "instructions are those of their own request alone";
  ask({{"previous_response_id", id_of(second)}, {"input", "And wind?"}}, said("None."));
  ASSERT_EQ(asked_.chat.messages.size(), 5U);
  EXPECT_EQ(asked_.chat.messages[3], json::parse(R"({"role":"assistant","content":"No rain."})"));
  EXPECT_EQ(asked_.chat.messages[4], json::parse(R"({"role":"user","content":"And wind?"})"));
}

TEST_F(ResponsesServer, ItemsAreReferredToInsteadOfBeingSent) {
  const Reply first = ask({{"input", "Rain?"}}, calling_weather());
  json::array input{{{"role", "user"}, {"content", "Rain?"}}};
  const json::value answered = first.json();
  for (const json::value& item : answered.at("output").as_array())
    input.push_back({{"type", "item_reference"}, {"id", item.at("id")}});
  input.push_back({{"type", "function_call_output"}, {"call_id", "call_1"}, {"output", "dry"}});
  const Reply second = ask({{"input", input}}, said("No rain."));
  const json::value sent_by_reference = asked_.chat.messages;

  ask({{"previous_response_id", id_of(first)},
       {"input",
        json::array{{{"type", "function_call_output"}, {"call_id", "call_1"}, {"output", "dry"}}}}},
      said("No rain."));
  EXPECT_EQ(sent_by_reference, json::value(asked_.chat.messages))
      << "one way is as good as another";

  // Clients that do both refer to what is there already.
  input.erase(input.begin());
  ask({{"previous_response_id", id_of(first)}, {"input", input}}, said("No rain."));
  EXPECT_EQ(sent_by_reference, json::value(asked_.chat.messages));

  const json::value listed = show(id_of(second) + "/input_items?order=asc").json();
  EXPECT_EQ(listed.at("data").at(1).at("type"), "reasoning") << "references are resolved";
}

TEST_F(ResponsesServer, AKeptResponseIsShownListedAndDeleted) {
  const Reply first = ask({{"input", "one"}}, said("1"));
  const Reply second = ask({{"previous_response_id", id_of(first)},
                            {"input", json::array{{{"role", "user"}, {"content", "two"}},
                                                  {{"role", "user"}, {"content", "three"}}}}},
                           said("2"));
  EXPECT_EQ(show(id_of(second)).body, second.body);

  json::value listed = show(id_of(second) + "/input_items").json();
  EXPECT_EQ(listed.at("object"), "list");
  EXPECT_EQ(listed.at("has_more"), false);
  ASSERT_EQ(listed.at("data").as_array().size(), 4U);
  const json::value newest = listed.at("data").at(0);
  EXPECT_EQ(newest.at("content"), json::parse(R"([{"type":"input_text","text":"three"}])"));
  EXPECT_EQ(newest.at("status"), "completed");
  EXPECT_EQ(listed.at("first_id"), newest.at("id"));
  EXPECT_EQ(listed.at("data").at(2).at("content").at(0).at("text"), "1");

  const std::string from = std::string(newest.at("id").as_string());
  listed = show(id_of(second) + "/input_items?limit=1&after=" + from).json();
  ASSERT_EQ(listed.at("data").as_array().size(), 1U);
  EXPECT_EQ(listed.at("data").at(0).at("content").at(0).at("text"), "two");
  EXPECT_EQ(listed.at("has_more"), true);
  EXPECT_EQ(show(id_of(second) + "/input_items?limit=0").error().at("param"), "limit");
  EXPECT_EQ(show(id_of(second) + "/input_items?order=up").error().at("param"), "order");
  EXPECT_EQ(show(id_of(second) + "/input_items?after=x").error().at("param"), "after");

  EXPECT_EQ(erase(id_of(second)).json(),
            json::value({{"id", id_of(second)}, {"object", "response"}, {"deleted", true}}));
  for (const Reply& gone :
       {show(id_of(second)), erase(id_of(second)), show(id_of(second) + "/input_items")}) {
    EXPECT_EQ(gone.status, 404);
    EXPECT_EQ(gone.error().at("code"), "response_not_found");
  }
}

TEST_F(ResponsesServer, WhatIsNotThereIsSaidByTheFieldThatNamedIt) {
  Reply reply = refused({{"input", "a"}, {"previous_response_id", "resp_x"}});
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.error().at("code"), "previous_response_not_found");
  EXPECT_EQ(reply.error().at("param"), "previous_response_id");
  EXPECT_NE(reply.body.find("256 MB"), std::string::npos) << reply.body;
  reply = refused({{"input", json::array{{{"type", "item_reference"}, {"id", "msg_x"}}}}});
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.error().at("code"), "item_not_found");
  EXPECT_EQ(reply.error().at("param"), "input[0].id");
  EXPECT_EQ(refused({{"input", "a"}, {"store", "yes"}}).error().at("param"), "store");
}

TEST_F(ResponsesServer, StoreFalseKeepsNothing) {
  const Reply reply = ask({{"input", "a"}, {"store", false}}, said("b"));
  EXPECT_EQ(reply.json().at("store"), false);
  EXPECT_EQ(show(id_of(reply)).status, 404);
}

TEST_F(ResponsesServer, AStreamIsKeptWhenItIsComplete) {
  RawClient client(rig_.server->port());
  client.send(post("/v1/responses", R"({"input":"hi","stream":true})"));
  rig_.backend.wait_for(++count_);
  rig_.backend.say({.text = "he"});
  rig_.backend.end(said("hello"));
  const json::value last = json::parse(events_in(read_reply(client).body).back());
  ASSERT_EQ(last.at("type"), "response.completed");
  const std::string id(last.at("response").at("id").as_string());
  EXPECT_EQ(show(id).json(), last.at("response"));
  ask({{"previous_response_id", id}, {"input", "more"}}, said("b"));
  EXPECT_EQ(asked_.chat.messages[1], json::parse(R"({"role":"assistant","content":"hello"})"));
}

TEST_F(ResponsesServer, AStreamThatFailsOrWhoseClientLeavesIsNotKept) {
  RawClient client(rig_.server->port());
  client.send(post("/v1/responses", R"({"input":"hi","stream":true})"));
  rig_.backend.wait_for(++count_);
  rig_.backend.say({.text = "he"});
  rig_.backend.end(llm::Failure{.failure_class = llm::FailureClass::kBackend, .message = "broken"});
  const json::value last = json::parse(events_in(read_reply(client).body).back());
  ASSERT_EQ(last.at("type"), "response.failed");
  EXPECT_EQ(show(std::string(last.at("response").at("id").as_string())).status, 404);

  std::string id;
  {
    RawClient leaving(rig_.server->port());
    leaving.send(post("/v1/responses", R"({"input":"hi","stream":true})"));
    rig_.backend.wait_for(++count_);
    rig_.backend.say({.text = "he"});
    std::string begun;
    while (begun.find("output_text.delta") == std::string::npos)
      begun += leaving.read_some();
    id = begun.substr(begun.find("resp_"), std::string("resp_").size() + 32);
  }
  rig_.backend.wait_unwanted();
  EXPECT_EQ(show(id).status, 404);
}

// Lists that were answered, or left by their clients, as the log says it.
class ListLog {
 public:
  void add(const std::string& line) {
    if (line.find("/input_items") == std::string::npos) return;
    const std::scoped_lock lock(mutex_);
    statuses_.push_back(json::parse(line).at("status").to_number<int>());
  }
  std::vector<int> statuses() const {
    const std::scoped_lock lock(mutex_);
    return statuses_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<int> statuses_;
};

// A busy worker delays the list, and the list delays no other request.
class ResponsesServerWithOneWorker : public ResponsesServer {
 protected:
  explicit ResponsesServerWithOneWorker(
      std::shared_ptr<ListLog> listed = std::make_shared<ListLog>())
      : ResponsesServer(
            {.worker_threads = 1, .log = [listed](const std::string& line) { listed->add(line); }}),
        listed_(std::move(listed)),
        path_("/v1/responses/" + id_of(ask({{"input", "one"}}, said("1"))) + "/input_items") {}

  // The one worker has something to do until it is released.
  void occupy() {
    rig_.backend.before_submit = [this] {
      entered_.count_down();
      released_.wait();
    };
    caller_.send(post("/v1/responses", R"({"input":"two"})"));
    entered_.wait();
  }
  void release() {
    released_.count_down();
    rig_.backend.wait_for(++count_);
    rig_.backend.end(said("2"));
    EXPECT_EQ(read_reply(caller_).status, 200);
  }

  // What connections opened before did has come when one that is opened later has been served.
  void wait_for_the_loop() { EXPECT_EQ(rig_.ask(get("/health")).status, 200); }

  const std::shared_ptr<ListLog> listed_;
  const std::string path_;  // of a list
  std::latch entered_{1};
  std::latch released_{1};
  RawClient caller_{rig_.server->port()};
};

TEST_F(ResponsesServerWithOneWorker, ListsItemsOutsideOfTheLoopAndItsStopWaitsForThat) {
  occupy();
  RawClient lister(rig_.server->port());
  lister.send(get(path_));
  RawClient resting(rig_.server->port());
  resting.send(get("/health"));
  EXPECT_EQ(read_reply(resting).status, 200);
  EXPECT_THAT(listed_->statuses(), IsEmpty());

  auto stopped = std::async(std::launch::async, [&] { rig_.server->stop(std::chrono::hours(1)); });
  resting.read_all();  // it is closed when the stop begins
  release();
  const Reply reply = read_reply(lister);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json().at("data").at(0).at("content").at(0).at("text"), "one");
  for (RawClient* client : {&caller_, &lister, &resting})
    client->close();
  stopped.get();
  EXPECT_THAT(listed_->statuses(), ElementsAre(200));
}

TEST_F(ResponsesServerWithOneWorker, RefusesListsAboveTheNumberThatMayWait) {
  occupy();
  std::list<RawClient> listers;
  for (int i = 0; i <= ActiveCalls::kPagesMax; ++i)
    listers.emplace_back(rig_.server->port()).send(get(path_));
  windrow::testing::eventually([&] { return listed_->statuses(); }, ElementsAre(429));
  release();
  int refused = 0;
  for (RawClient& lister : listers) {
    const Reply reply = read_reply(lister);
    if (reply.status == 200) continue;
    ++refused;
    EXPECT_EQ(reply.error().at("code"), "server_overloaded");
    EXPECT_EQ(reply.header("Retry-After"), "1");
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(rig_.ask(get(path_)).status, 200) << "there is room again";
}

TEST_F(ResponsesServerWithOneWorker, MakesNoListForAClientThatLeft) {
  occupy();
  RawClient leaver(rig_.server->port());
  leaver.send(get(path_));
  wait_for_the_loop();
  leaver.close();
  wait_for_the_loop();
  release();
  windrow::testing::eventually([&] { return listed_->statuses(); }, ElementsAre(499));
}

class ResponsesServerWithoutMemory : public ResponsesServer {
 protected:
  ResponsesServerWithoutMemory() : ResponsesServer({.kept_bytes_max = 0}) {}
};

TEST_F(ResponsesServerWithoutMemory, SaysThatNothingIsKept) {
  const Reply reply = ask({{"input", "a"}, {"store", true}}, said("b"));
  EXPECT_EQ(reply.json().at("store"), false);
  EXPECT_EQ(refused({{"input", "a"}, {"previous_response_id", id_of(reply)}}).error().at("code"),
            "previous_response_not_found");
}

}  // namespace
}  // namespace windrow::api
