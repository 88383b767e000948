// What the endpoints of sessions refuse, to whom, and in which words.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/session/session_calls.h"
#include "api/testing/session_rig.h"
#include "http/testing/raw_client.h"
#include "json/limits.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using Asked = session::testing::ScriptedModels::Asked;
using ::testing::HasSubstr;
using testing::kTurn;
using testing::kUnknownId;
using testing::Reply;
using testing::SessionCallsTest;

TEST_F(SessionCallsTest, AServerWithoutSessionsSaysSo) {
  ApiOptions api;
  api.parts = {session_part(nullptr)};
  rig_.emplace(std::move(api));
  for (const std::string_view path : {"/sessions", "/sessions/a", "/sessions/a/v1/models"}) {
    const Reply reply = ask("GET", path);
    EXPECT_EQ(reply.status, 501);
    EXPECT_THAT(error_of(reply), HasSubstr("without sessions"));
  }
  EXPECT_EQ(ask("GET", "/health").body, R"({"status":"ok"})");
  EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("windrow_sessions 0\n"));
}

TEST_F(SessionCallsTest, WrongPathsAndMethodsHaveTheSameShape) {
  open();
  EXPECT_EQ(ask("PUT", "/sessions").status, 405);
  EXPECT_THAT(error_of(ask("PUT", "/sessions")), HasSubstr("PUT"));
  EXPECT_EQ(ask("GET", "/sessions/").status, 404);
  error_of(ask("GET", "/sessions/"));
}

TEST_F(SessionCallsTest, AWrongQueryIsRefusedByName) {
  open();
  const std::string path = "/sessions/" + create();
  const Reply wrong = ask("GET", path + "?records=some");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(error_of(wrong), "records is \"some\"; it must be none, last or all");
  EXPECT_EQ(ask("GET", path + "?record=all").status, 400);
}

TEST_F(SessionCallsTest, SamplesThatCannotBeMadeArePlainText) {
  const http::ServerReply reply = samples_error(
      {.status = 422, .code = "broken_chain", .message = "b.tokens must start with a.tokens"});
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(reply.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(reply.body, "b.tokens must start with a.tokens");
  EXPECT_EQ(samples_error({.status = 404, .message = "no"}).body, R"({"error":"no"})");
}

// --- keys ---------------------------------------------------------------------------------------

TEST_F(SessionCallsTest, BeginningAndListingNeedAKey) {
  make_key_of("alice", "in-flight=50");
  open();
  for (const char* method : {"POST", "GET"}) {
    EXPECT_EQ(ask(method, "/sessions").status, 401);
    EXPECT_THAT(error_of(ask(method, "/sessions")), HasSubstr("API key"));
    EXPECT_EQ(ask(method, "/sessions", "", header_of("ws-unknown")).status, 401);
    EXPECT_EQ(ask(method, "/sessions", "", headers_["alice"]).status, 200);
  }
}

TEST_F(SessionCallsTest, ASessionOpensToItsKeyItsCreatorAndAdmins) {
  make_key_of("alice", "in-flight=50");
  make_key_of("bob", "in-flight=50");
  make_key_of("monitor", "admin");
  open();
  const std::string id = create("", headers_["alice"]);
  const std::string own = key_;
  const std::string other = (create("", headers_["bob"]), key_);
  for (const std::string& header : {own, headers_["alice"], headers_["monitor"]}) {
    EXPECT_EQ(turn(id, kTurn, header).status, 200);
    EXPECT_EQ(ask("GET", "/sessions/" + id, "", header).status, 200);
  }
  for (const std::string& header : {std::string(), other, headers_["bob"], header_of("x")}) {
    const Reply refused = turn(id, kTurn, header);
    EXPECT_GE(refused.status, 401);
    EXPECT_LE(refused.status, 404);
    EXPECT_NE(error_of(refused), "");
    EXPECT_GE(ask("DELETE", "/sessions/" + id, "", header).status, 401);
    EXPECT_GE(ask("GET", fmt::format("/sessions/{}/v1/models", id), "", header).status, 401);
  }
  EXPECT_EQ(ask("DELETE", "/sessions/" + id, "", own).status, 204);
}

TEST_F(SessionCallsTest, TurnsAreChargedToTheKeyThatCreatedTheSession) {
  make_key_of("alice", "in-flight=50");
  make_key_of("monitor", "admin");
  open();
  const std::string id = create("", headers_["alice"]);
  std::vector<std::string> callers;
  for (const std::string& header : {key_, headers_["monitor"]}) {
    ask_and(request("POST", chat_path(id), kTurn, header), [&](Asked& asked) {
      callers.push_back(asked.question.caller.key);
      asked.answer("ok");
    });
  }
  EXPECT_EQ(callers, (std::vector<std::string>{"alice", "alice"}));
}

TEST_F(SessionCallsTest, TheListShowsEachKeyItsOwn) {
  make_key_of("alice", "in-flight=50");
  make_key_of("bob", "in-flight=50");
  make_key_of("monitor", "admin");
  open();
  create("", headers_["alice"]);
  const auto count = [&](const std::string& name) {
    return ask("GET", "/sessions", "", headers_[name]).json().at("sessions").as_array().size();
  };
  EXPECT_EQ(count("alice"), 1U);
  EXPECT_EQ(count("bob"), 0U);
  EXPECT_EQ(count("monitor"), 1U);
  EXPECT_EQ(ask("GET", "/sessions", "", headers_["alice"]).json().at("sessions").at(0).at("owner"),
            "alice");
}

// The guard, which knows no keys of sessions, asks at the head of long bodies.
TEST_F(SessionCallsTest, ALongBodyMayComeWithASessionsKey) {
  make_key_of("alice", "in-flight=50");
  open();
  const std::string id = create("", headers_["alice"]);
  const std::string body = fmt::format(R"({{"messages":[{{"role":"user","content":"{}"}}]}})",
                                       std::string(100'000, 'x'));
  EXPECT_EQ(turn(id, body, key_).status, 200);
  EXPECT_EQ(ask("POST", "/sessions", std::string(100'000, ' '), header_of("ws-x")).status, 401);
}

// --- limits -------------------------------------------------------------------------------------

TEST_F(SessionCallsTest, ABodyThatIsTooLongIsRefusedAtItsHead) {
  open({.limits = {.body_bytes_max = size_t{1} << 20}});
  const std::string id = create();
  http::testing::RawClient client(rig_->server->port());
  client.send(
      fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n", chat_path(id)));
  const Reply refused = testing::read_reply(client);
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(error_of(refused), HasSubstr("1 MiB"));
  EXPECT_THAT(error_of(refused), HasSubstr("--session-body-mb"));
  EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr(R"(code="request_too_large"} 1)"));
}

TEST_F(SessionCallsTest, ABodyOfUnknownLengthThatIsTooLongIsRefusedWhenItIsThere) {
  open({.limits = {.body_bytes_max = 10}});
  const std::string id = create();
  const Reply refused =
      rig_->ask(fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "b\r\n{{\"a\":\"bcd\"}}\r\n0\r\n\r\n",
                            chat_path(id)));
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(error_of(refused), HasSubstr("--session-body-mb"));
}

TEST_F(SessionCallsTest, BodiesInProgressTakeOnlySoMuchMemory) {
  open({}, session::ModelKind::kEmbedded, {.body_bytes_max = 40'000});
  const std::string id = create();
  hold();
  http::testing::RawClient client(rig_->server->port());
  client.send(request("POST", chat_path(id),
                      fmt::format(R"({{"messages":[{{"role":"user","content":"{}"}}]}})",
                                  std::string(8'000, 'x'))));
  const std::shared_ptr<Asked> asked = models_->next();
  const Reply refused = turn(id, std::string(15'000, ' '));
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.header("Retry-After"), "");
  asked->answer("ok");
  EXPECT_EQ(testing::read_reply(client).status, 200);
  EXPECT_NE(turn(id, std::string(15'000, ' ')).status, 429);
}

// Parsed, such a body takes many times its length.
TEST_F(SessionCallsTest, ABodyWithTooManyValuesIsRefusedBeforeItIsParsed) {
  open();
  const std::string id = create();
  std::string body = R"({"messages":[)";
  for (size_t i = 0; i < kJsonValuesMax; ++i)
    body += "0,";
  body += "0]}";
  const Reply refused = turn(id, body);
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(error_of(refused), HasSubstr("JSON values"));
  EXPECT_EQ(ask("POST", "/sessions", body).status, 413);
  EXPECT_EQ(ask("POST", "/sessions/" + id + "/samples", body).status, 413);
}

TEST_F(SessionCallsTest, TooManySessionsAreRefused) {
  open({.limits = {.sessions_max = 1}});
  create();
  const Reply refused = ask("POST", "/sessions");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.header("Retry-After"), "");
  EXPECT_NE(error_of(refused), "");
}

TEST_F(SessionCallsTest, NothingIsAcceptedWhileTheServerStops) {
  open();
  rig_->registry.set_state(ServeState::kStopping);
  EXPECT_EQ(ask("POST", "/sessions").status, 503);
}

}  // namespace
}  // namespace windrow::api
