// SessionCallsTest: a whole server with sessions, and a model that the test answers for.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/session/session_calls.h"
#include "api/testing/server_rig.h"
#include "base/testing/eventually.h"
#include "http/testing/raw_client.h"
#include "session/service/session_service.h"
#include "session/testing/scripted_models.h"

namespace windrow::api::testing {

namespace json = boost::json;

inline constexpr std::string_view kTurn = R"({"messages":[{"role":"user","content":"hi"}]})";
inline constexpr std::string_view kTurnStream =
    R"({"messages":[{"role":"user","content":"hi"}],"stream":true})";
inline const std::string kUnknownId = "0123456789abcdef0123456789abcdef";

class SessionCallsTest : public ::testing::Test {
 protected:
  ~SessionCallsTest() override {
    if (service_) service_->stop();
    if (rig_ && rig_->server) rig_->server->stop(Duration{});
  }

  void open(session::SessionOptions options = {},
            session::ModelKind kind = session::ModelKind::kEmbedded, SessionThreads threads = {}) {
    models_.emplace(kind);
    say("ok");
    service_ =
        std::make_unique<session::SessionService>(clock_, std::move(options), std::string(32, 's'));
    service_->start(*models_);
    ApiOptions api;
    api.parts = {session_part(service_.get(), threads)};
    if (!keys_.empty())
      api.keys = std::make_shared<const KeyRingHolder>(*KeyRing::parse(keys_, "keys"));
    rig_.emplace(std::move(api));
  }

  void make_key_of(const std::string& name, std::string_view limits) {
    const Result<NewKey> made = make_key(name, limits, std::string(32, name[0]));
    keys_ += made->line + "\n";
    headers_[name] = header_of(made->key);
  }

  static std::string header_of(std::string_view key) {
    return fmt::format("Authorization: Bearer {}\r\n", key);
  }

  static std::string request(std::string_view method, std::string_view path,
                             std::string_view body = "", std::string_view headers = "") {
    return fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", method, path,
                       headers, body.size(), body);
  }

  Reply ask(std::string_view method, std::string_view path, std::string_view body = "",
            std::string_view headers = "") {
    return rig_->ask(request(method, path, body, headers));
  }

  // The id of a new session.
  std::string create(std::string_view body = "", std::string_view headers = "") {
    const Reply reply = ask("POST", "/sessions", body, headers);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const json::object made = reply.json().as_object();
    key_ = header_of(std::string_view(made.at("session_key").as_string()));
    return std::string(made.at("session_id").as_string());
  }

  // The model says this to all turns from now on.
  void say(std::string text) {
    models_->answer_all([text = std::move(text)](const session::TurnQuestion& question) {
      return session::testing::make_answer(question, text);
    });
  }

  // It fails, or its server has another answer to pass on.
  void answer_all_by(session::TurnOutcome outcome) {
    models_->answer_all(
        [outcome = std::move(outcome)](const session::TurnQuestion&) { return outcome; });
  }

  // From now on turns wait for models_->next().
  void hold() { models_->answer_all(nullptr); }

  // The reply to a request that the model answers by `act(asked)`.
  template <class Act>
  Reply ask_and(std::string_view sent, Act act) {
    hold();
    http::testing::RawClient client(rig_->server->port());
    client.send(sent);
    act(*models_->next());
    return read_reply(client);
  }

  static std::string chat_path(std::string_view id) {
    return fmt::format("/sessions/{}/v1/chat/completions", id);
  }

  Reply turn(std::string_view id, std::string_view body = kTurn, std::string_view headers = "") {
    return ask("POST", chat_path(id), body, headers);
  }

  json::array records(std::string_view id) {
    return ask("GET", fmt::format("/sessions/{}", id)).json().at("records").as_array();
  }

  // The error of a reply, which has nothing else.
  static std::string error_of(const Reply& reply) {
    EXPECT_EQ(reply.header("Content-Type"), "application/json");
    const json::object body = reply.json().as_object();
    EXPECT_EQ(body.size(), 1U) << reply.body;
    return std::string(body.at("error").as_string());
  }

  const SystemClock clock_;
  std::optional<session::testing::ScriptedModels> models_;
  std::unique_ptr<session::SessionService> service_;
  std::string keys_;
  std::map<std::string, std::string> headers_;
  std::string key_;  // the header with the key of the session that was created last
  std::optional<ServerRig> rig_;
};

}  // namespace windrow::api::testing
