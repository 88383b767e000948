// What the endpoints of sessions answer: the behaviours of the reference server, over HTTP.
#include "api/session/session_calls.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <deque>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/testing/session_rig.h"
#include "base/testing/eventually.h"
#include "http/testing/raw_client.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using session::ModelKind;
using session::testing::make_answer;
using Asked = session::testing::ScriptedModels::Asked;
using ::testing::HasSubstr;
using testing::kTurn;
using testing::kTurnStream;
using testing::kUnknownId;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::read_reply;
using testing::Reply;
using testing::SessionCallsTest;
using windrow::testing::eventually;

bool is_id(std::string_view id) {
  return id.size() == 32 && std::ranges::all_of(id, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// --- the life of a session ----------------------------------------------------------------------

TEST_F(SessionCallsTest, ASessionHasAnIdAndAnUnknownOneIsAnswered404) {
  open();
  EXPECT_TRUE(is_id(create()));
  EXPECT_TRUE(is_id(create("{}")));
  const std::string text = "session not found: session_id=" + kUnknownId;
  const std::string path = "/sessions/" + kUnknownId;
  for (const Reply& reply :
       {ask("GET", path), ask("DELETE", path), turn(kUnknownId), ask("POST", path + "/samples")}) {
    EXPECT_EQ(reply.status, 404);
    EXPECT_EQ(error_of(reply), text);
  }
}

TEST_F(SessionCallsTest, TheSecondDeleteFindsNothing) {
  open();
  const std::string id = create();
  const Reply removed = ask("DELETE", "/sessions/" + id);
  EXPECT_EQ(removed.status, 204);
  EXPECT_EQ(removed.body, "");
  EXPECT_EQ(removed.header("Content-Type"), "");
  const Reply again = ask("DELETE", "/sessions/" + id);
  EXPECT_EQ(again.status, 404);
  EXPECT_EQ(error_of(again), "session not found (deleted): session_id=" + id);
  EXPECT_EQ(turn(id).status, 404);
  EXPECT_EQ(ask("GET", "/sessions/" + id).status, 404);
}

TEST_F(SessionCallsTest, OneOfTwoDeletesAtTheSameTimeSucceeds) {
  open();
  for (int round = 0; round < 10; ++round) {
    const std::string path = "/sessions/" + create();
    auto other = std::async(std::launch::async, [&] { return ask("DELETE", path).status; });
    const int own = ask("DELETE", path).status;
    EXPECT_THAT((std::vector{own, other.get()}), ::testing::UnorderedElementsAre(204, 404));
  }
}

TEST_F(SessionCallsTest, ADeleteStopsTheTurnsOfItsSession) {
  open();
  const std::string id = create();
  hold();
  http::testing::RawClient client(rig_->server->port());
  client.send(request("POST", chat_path(id), kTurn));
  const std::shared_ptr<Asked> asked = models_->next();
  EXPECT_EQ(ask("DELETE", "/sessions/" + id).status, 204);
  const Reply reply = read_reply(client);
  EXPECT_EQ(reply.status, 404);
  EXPECT_THAT(error_of(reply), HasSubstr(id));
}

TEST_F(SessionCallsTest, OfTurnsAtTheSameTimeOneIsKept) {
  open();
  const std::string id = create();
  hold();
  std::deque<http::testing::RawClient> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back(rig_->server->port());
    clients.back().send(request("POST", chat_path(id), kTurn));
  }
  std::vector<std::shared_ptr<Asked>> asked;
  while (asked.size() < clients.size())
    asked.push_back(models_->next());
  for (const std::shared_ptr<Asked>& turn : asked)
    turn->answer("one");
  for (http::testing::RawClient& client : clients)
    EXPECT_EQ(read_reply(client).status, 200);
  EXPECT_EQ(records(id).size(), 1U);
}

TEST_F(SessionCallsTest, AConversationGoesOn) {
  open();
  const std::string id = create();
  const Reply first = turn(id);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.header("Content-Type"), "application/json");
  EXPECT_EQ(first.json().at("object"), "chat.completion");
  EXPECT_EQ(first.json().at("choices").at(0).at("message").at("content"), "ok");
  const Reply second = turn(id, R"({"messages":[{"role":"user","content":"hi"},)"
                                R"({"role":"assistant","content":"ok"},)"
                                R"({"role":"user","content":"more"}]})");
  EXPECT_EQ(second.status, 200);

  const json::value shown = ask("GET", "/sessions/" + id).json();
  EXPECT_EQ(shown.at("session_id"), json::string_view(id));
  EXPECT_EQ(shown.at("records").as_array().size(), 2U);
  const auto with = [&](std::string_view which) {
    return ask("GET", fmt::format("/sessions/{}?records={}", id, which))
        .json()
        .at("records")
        .as_array()
        .size();
  };
  EXPECT_EQ(with("none"), 0U);
  EXPECT_EQ(with("last"), 1U);
  EXPECT_EQ(with("all"), 2U);
}

TEST_F(SessionCallsTest, SamplesAreSafetensors) {
  open();
  const std::string id = create();
  EXPECT_EQ(turn(id).status, 200);
  const Reply reply = ask("POST", fmt::format("/sessions/{}/samples", id), "{}");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.header("Content-Type"), "application/octet-stream");
  EXPECT_EQ(reply.header("Content-Length"), fmt::format("{}", reply.body.size()));
  EXPECT_THAT(reply.body, HasSubstr("_samples_meta"));
  EXPECT_THAT(reply.body, HasSubstr("tokens.0"));
}

TEST_F(SessionCallsTest, TheListHasWhatThereIs) {
  open();
  EXPECT_EQ(ask("GET", "/sessions").body, R"({"sessions":[]})");
  const std::string id = create();
  turn(id);
  const json::value list = ask("GET", "/sessions").json();
  ASSERT_EQ(list.at("sessions").as_array().size(), 1U);
  const json::value& one = list.at("sessions").at(0);
  EXPECT_EQ(one.at("id"), json::string_view(id));
  EXPECT_EQ(one.at("model"), "model");
  EXPECT_EQ(one.at("owner"), "");
  EXPECT_EQ(one.at("history"), "linear");
  EXPECT_EQ(one.at("turns"), 1);
  EXPECT_EQ(one.at("in_flight"), 0);
}

TEST_F(SessionCallsTest, HealthNamesTheInstance) {
  open();
  EXPECT_THAT(ask("GET", "/health").body,
              MatchesRegex(R"(\{"status":"ok","session_server_instance_id":"[0-9a-f]+"\})"));
}

TEST_F(SessionCallsTest, MetricsCountTurns) {
  open();
  turn(create());
  const std::string page = ask("GET", "/metrics").body;
  EXPECT_THAT(page, HasSubstr("windrow_sessions 1\n"));
  EXPECT_THAT(page, HasSubstr("windrow_sessions_total{event=\"created\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("windrow_sessions_turns_total{result=\"committed\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("windrow_sessions_mismatches_total{type=\"assistant_text\"} 0\n"));
}

// An answer of the kind kSglangChat.
session::TurnOutcome says_as_chat(const session::TurnQuestion& question) {
  session::TurnAnswer answer = make_answer(question, "ok");
  answer.choice.reset();
  answer.reply.chat = {
      {"id", "chatcmpl-far"},
      {"object", "chat.completion"},
      {"created", 7},
      {"model", "far"},
      {"choices", json::array{json::object{
                      {"index", 0}, {"message", answer.message}, {"finish_reason", "stop"}}}},
      {"usage", {{"prompt_tokens", 4}, {"completion_tokens", 2}, {"total_tokens", 6}}}};
  return answer;
}

// --- replies of a model's server ----------------------------------------------------------------

TEST_F(SessionCallsTest, AServersErrorIsPassedOnByteForByteAndNothingIsKept) {
  open({}, ModelKind::kSglangChat);
  const std::string id = create();
  answer_all_by(session::PassedReply{.status = 400,
                                     .content_type = "application/json; x=1",
                                     .body = "{ \"error\" :\"context too long\"}"});
  const Reply reply = turn(id);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body, "{ \"error\" :\"context too long\"}");
  EXPECT_EQ(reply.header("Content-Type"), "application/json; x=1");
  EXPECT_EQ(records(id).size(), 0U);
  models_->answer_all(says_as_chat);
  EXPECT_EQ(turn(id, R"({"messages":[{"role":"user","content":"another"}]})").status, 200);
  EXPECT_EQ(records(id).size(), 1U);
}

TEST_F(SessionCallsTest, AServerThatCannotBeUsedIsA502AndNothingIsKept) {
  open({}, ModelKind::kSglangChat);
  const std::string id = create();
  models_->answer_all(says_as_chat);
  turn(id);
  answer_all_by(llm::Failure{.failure_class = llm::FailureClass::kTransient,
                             .status = 502,
                             .code = "upstream_unreachable",
                             .message = "backend transport error: ConnectError: refused"});
  const Reply reply = turn(id);
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(error_of(reply), "backend transport error: ConnectError: refused");
  EXPECT_EQ(records(id).size(), 1U);
  models_->answer_all(says_as_chat);
  EXPECT_EQ(turn(id).status, 200) << "the first turn may be asked again";
}

// What comes until this text has come.
std::string read_until(http::testing::RawClient& client, std::string_view text) {
  std::string came;
  while (came.find(text) == std::string::npos) {
    const std::string more = client.read_some();
    if (more.empty()) break;
    came += more;
  }
  return came;
}

// --- streams ------------------------------------------------------------------------------------

TEST_F(SessionCallsTest, AModelThatCannotStreamIsStreamedAsTwoEvents) {
  open({}, ModelKind::kSglangChat);
  json::array sent;
  models_->answer_all([&](const session::TurnQuestion& question) {
    sent.push_back(question.body);
    return says_as_chat(question);
  });
  const std::string id = create();
  const Reply reply = turn(id, kTurnStream);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(reply.header("Cache-Control"), "no-cache");
  EXPECT_EQ(reply.header("X-Accel-Buffering"), "no");
  EXPECT_EQ(reply.header("Content-Length"), fmt::format("{}", reply.body.size()));
  EXPECT_EQ(
      reply.body,
      R"(data: {"id":"chatcmpl-far","object":"chat.completion.chunk","created":7,"model":"far",)"
      R"("choices":[{"index":0,"delta":{"role":"assistant","content":"ok"},)"
      R"("finish_reason":"stop"}],)"
      R"("usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}})"
      "\n\ndata: [DONE]\n\n");
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_FALSE(sent.at(0).as_object().contains("stream"));
  const json::array kept = records(id);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_FALSE(kept.at(0).at("request").as_object().contains("stream"));
  const std::string whole = create();
  turn(whole);
  EXPECT_EQ(records(whole).at(0).at("request"), kept.at(0).at("request"));
}

// Says a text in two deltas.
void stream_words(Asked& turn) {
  ASSERT_TRUE(turn.listener);
  turn.listener->on_delta({.text = "one "});
  turn.listener->on_delta({.text = "two", .finish_reason = llm::FinishReason::kStop});
  turn.answer("one two");
}

// The contents of all chunks, joined; "[DONE]" at the end.
std::string streamed_text(std::string_view events) {
  std::string text;
  for (size_t at = events.find("data: "); at != std::string_view::npos;
       at = events.find("data: ", at + 1)) {
    const std::string_view data = events.substr(at + 6, events.find("\n\n", at) - at - 6);
    if (data == "[DONE]") return text + "[DONE]";
    const json::value chunk = json::parse(data);
    if (chunk.at("choices").as_array().empty()) continue;
    const json::object& delta = chunk.at("choices").at(0).at("delta").as_object();
    if (delta.contains("content")) text += delta.at("content").as_string();
  }
  return text;
}

TEST_F(SessionCallsTest, AModelThatStreamsIsStreamedAsItsDeltasCome) {
  open();
  const std::string id = create();
  const Reply reply =
      ask_and(request("POST", chat_path(id),
                      R"({"messages":[{"role":"user","content":"hi"}],"stream":true,)"
                      R"("stream_options":{"include_usage":true}})"),
              stream_words);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(reply.header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(streamed_text(reply.body), "one two[DONE]");
  EXPECT_THAT(reply.body, HasSubstr(R"("finish_reason":"stop")"));
  EXPECT_THAT(reply.body, HasSubstr(R"("choices":[],"usage":{"prompt_tokens")"));
  EXPECT_THAT(reply.body, HasSubstr(R"("id":"chatcmpl-)"));
  EXPECT_THAT(reply.body, Not(HasSubstr("chatcmpl-chatcmpl")));
  ASSERT_EQ(records(id).size(), 1U);
}

TEST_F(SessionCallsTest, DeltasAreSentBeforeTheEnd) {
  open();
  const std::string id = create();
  hold();
  http::testing::RawClient client(rig_->server->port());
  client.send(request("POST", chat_path(id), kTurnStream));
  const std::shared_ptr<Asked> turn = models_->next();
  turn->listener->on_delta({.text = "one "});
  EXPECT_THAT(read_until(client, "one "), HasSubstr("200 OK"));
  turn->listener->on_delta({.text = "two", .finish_reason = llm::FinishReason::kStop});
  turn->answer("one two");
  EXPECT_THAT(read_until(client, "[DONE]"), HasSubstr("two"));
}

TEST_F(SessionCallsTest, AFailureAfterTheFirstDeltaIsAnEvent) {
  open();
  const std::string id = create();
  const Reply reply = ask_and(request("POST", chat_path(id), kTurnStream), [](Asked& turn) {
    turn.listener->on_delta({.text = "one "});
    turn.answer(llm::Failure{.failure_class = llm::FailureClass::kTransient,
                             .status = 502,
                             .code = "upstream_error",
                             .message = "the server broke off"});
  });
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("the server broke off"));
  EXPECT_THAT(reply.body, Not(HasSubstr("[DONE]")));
  EXPECT_EQ(records(id).size(), 0U);
}

TEST_F(SessionCallsTest, AFailureBeforeTheFirstDeltaHasItsStatus) {
  open();
  const std::string id = create();
  answer_all_by(llm::Failure{.failure_class = llm::FailureClass::kTransient,
                             .status = 503,
                             .code = "backend_unavailable",
                             .message = "no model"});
  const Reply reply = turn(id, kTurnStream);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(error_of(reply), "no model");
}

// --- clients that leave -------------------------------------------------------------------------

TEST_F(SessionCallsTest, AClientThatLeavesStopsItsTurn) {
  open();
  const std::string id = create();
  hold();
  std::shared_ptr<Asked> asked;
  {
    http::testing::RawClient client(rig_->server->port());
    client.send(request("POST", chat_path(id), kTurn));
    asked = models_->next();
  }
  EXPECT_TRUE(eventually([&] { return service_->counts().in_flight == 0; }));
  EXPECT_EQ(records(id).size(), 0U);
  EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr(R"(code="client_left"} 1)"));
}

TEST_F(SessionCallsTest, AClientThatLeavesItsStreamStopsItsTurn) {
  open();
  const std::string id = create();
  hold();
  std::shared_ptr<Asked> turn;
  {
    http::testing::RawClient client(rig_->server->port());
    client.send(request("POST", chat_path(id), kTurnStream));
    turn = models_->next();
    turn->listener->on_delta({.text = "one "});
    read_until(client, "one ");
  }
  EXPECT_TRUE(eventually([&] { return service_->counts().in_flight == 0; }));
  turn->listener->on_delta({.text = "two"});
  EXPECT_EQ(records(id).size(), 0U);
}

TEST_F(SessionCallsTest, ATurnMayGoOnWithoutItsClientAndKeepsNoServerFromStopping) {
  open({.defaults = {.orphans = session::OrphanRule::kCommit}});
  const std::string id = create();
  hold();
  std::shared_ptr<Asked> turn;
  {
    http::testing::RawClient client(rig_->server->port());
    client.send(request("POST", chat_path(id), kTurn));
    turn = models_->next();
  }
  EXPECT_TRUE(eventually([&] {
    return ask("GET", "/metrics").body.find(R"(code="client_left"} 1)") != std::string::npos;
  }));
  rig_->server->stop(std::chrono::seconds(60));
  turn->answer("late");
  EXPECT_TRUE(eventually([&] { return service_->counts().turns_committed == 1; }));
}

// --- paths that are passed on -------------------------------------------------------------------

TEST_F(SessionCallsTest, OtherPathsArePassedOnAsTheyAre) {
  open();
  const std::string id = create();
  turn(id);
  const std::string body("\0{raw", 5);
  session::TurnQuestion question;
  const Reply reply = ask_and(
      request("PUT", fmt::format("/sessions/{}/v1/a%2Fb//c?x=1&y=%20", id), body,
              "X-Mine: 7\r\nAuthorization: Bearer secret\r\n"),
      [&](Asked& asked) {
        question = asked.question;
        EXPECT_EQ(asked.model, "model");
        EXPECT_EQ(asked.method, llm::HttpMethod::kPut);
        EXPECT_EQ(asked.target, "/v1/a%2Fb//c?x=1&y=%20");
        EXPECT_EQ(asked.body, body);
        asked.answer(session::PassedReply{
            .status = 418, .content_type = "text/plain; charset=latin1", .body = "te\xe4pot"});
      });
  EXPECT_EQ(reply.status, 418);
  EXPECT_EQ(reply.header("Content-Type"), "text/plain; charset=latin1");
  EXPECT_EQ(reply.body, "te\xe4pot");
  EXPECT_EQ(question.session, id);
  const auto sent = [&](std::string_view name) {
    return std::ranges::any_of(question.headers, [&](const llm::RequestHeader& header) {
      return http::same_ignoring_case(header.name, name);
    });
  };
  EXPECT_TRUE(sent("x-mine"));
  EXPECT_FALSE(sent("Authorization")) << "it is a key of this server";
}

TEST_F(SessionCallsTest, PathsThatSayMoreGoFirst) {
  open();
  const std::string id = create();
  answer_all_by(session::PassedReply{.status = 418, .content_type = "", .body = "far"});
  const auto passed = [&](std::string_view method, std::string_view path) {
    const size_t before = models_->asked();
    const Reply reply =
        ask(method, fmt::format("/sessions/{}{}", id, path), method == "GET" ? "" : kTurn);
    return models_->asked() > before && reply.status == 418;
  };
  EXPECT_FALSE(passed("POST", "/samples"));
  EXPECT_TRUE(passed("GET", "/v1/chat/completions"));
  EXPECT_TRUE(passed("POST", "/v1/completions"));
  EXPECT_TRUE(passed("POST", "/v1/chat/completions/more"));
  EXPECT_TRUE(passed("GET", "/v1/models"));
  EXPECT_TRUE(passed("PATCH", "/v1/models"));
  EXPECT_TRUE(passed("DELETE", "/v1/models"));
  EXPECT_TRUE(passed("GET", "/"));
  EXPECT_FALSE(passed("GET", ""));
}

TEST_F(SessionCallsTest, ASessionThatIsNotThereMayPassPathsOnToo) {
  open();
  answer_all_by(session::PassedReply{.status = 418, .content_type = "", .body = "far"});
  EXPECT_EQ(ask("GET", fmt::format("/sessions/{}/v1/models", kUnknownId)).status, 418);
}

TEST_F(SessionCallsTest, WhatCannotBePassedOnIsAnError) {
  open();
  answer_all_by(llm::Failure{
      .status = 404, .code = "no_upstream", .message = "the model is in this process"});
  const Reply reply = ask("GET", fmt::format("/sessions/{}/v1/models", create()));
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(error_of(reply), "the model is in this process");
}

// --- Messages -----------------------------------------------------------------------------------

constexpr std::string_view kMessage = R"({"model":"model","max_tokens":9,"system":"be brief",)"
                                      R"("messages":[{"role":"user","content":"hi"}]})";

TEST_F(SessionCallsTest, AMessageIsATurn) {
  open();
  const std::string id = create();
  const Reply reply = ask("POST", fmt::format("/sessions/{}/v1/messages", id), kMessage);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json().at("type"), "message");
  EXPECT_EQ(reply.json().at("content").at(0).at("text"), "ok");
  const json::array kept = records(id);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.at(0).at("path"), "/v1/chat/completions");
  EXPECT_EQ(kept.at(0).at("request").at("messages").at(0).at("role"), "system");
}

TEST_F(SessionCallsTest, AMessageIsStreamedAsThatApiDoes) {
  open();
  std::string body(kMessage);
  body.insert(1, R"("stream":true,)");
  const Reply reply = ask_and(
      request("POST", fmt::format("/sessions/{}/v1/messages", create()), body), stream_words);
  EXPECT_EQ(reply.status, 200);
  for (const char* event : {"message_start", "content_block_delta", "message_stop"})
    EXPECT_THAT(reply.body, HasSubstr(fmt::format("event: {}\n", event)));
  EXPECT_THAT(reply.body, HasSubstr(R"(two"}})"));
}

TEST_F(SessionCallsTest, ErrorsOfMessagesHaveTheirShape) {
  open();
  const auto type = [&](std::string_view id, std::string_view body) {
    const Reply reply = ask("POST", fmt::format("/sessions/{}/v1/messages", id), body);
    EXPECT_EQ(reply.json().at("type"), "error") << reply.body;
    return fmt::format("{} {}", reply.status,
                       std::string_view(reply.json().at("error").at("type").as_string()));
  };
  EXPECT_EQ(type(kUnknownId, kMessage), "404 not_found_error");
  EXPECT_EQ(type(create(), "{"), "400 invalid_request_error");
}

}  // namespace
}  // namespace windrow::api
