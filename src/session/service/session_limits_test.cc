// The bounds of sessions: each with its status, and who may use one.
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "session/service/session_service.h"
#include "session/testing/session_rig.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

using testing::everybody;
using testing::message;
using testing::message_of;
using testing::SessionRig;

const llm::Failure& failure_of(const TurnEnd& end) {
  return std::get<llm::Failure>(end);
}

TEST(SessionLimits, SoManySessions) {
  SessionRig rig({.limits = {.sessions_max = 2}});
  const std::string first = rig.create();
  rig.create();
  const auto third = rig.service.create(everybody(), "");
  EXPECT_EQ(std::get<llm::Failure>(third).status, 429);
  EXPECT_NE(std::get<llm::Failure>(third).message.find("--sessions-max"), std::string::npos);
  EXPECT_TRUE(std::get<bool>(rig.service.remove(everybody(), first)));
  rig.create();
}

TEST(SessionLimits, AnUnusedSessionIsGoneAfterAWhile) {
  SessionRig rig({.limits = {.idle = std::chrono::minutes(10)}});
  const std::string idle = rig.create();
  const std::string used = rig.create();
  rig.clock.advance(std::chrono::minutes(9));
  rig.service.expire();
  message_of(rig.turn(used, {message("user", "a")}, "b"));
  rig.clock.advance(std::chrono::minutes(2));
  rig.service.expire();
  const TurnEnd end = rig.begin(idle, {message("user", "a")}).get();
  EXPECT_EQ(failure_of(end).status, 410);
  EXPECT_TRUE(failure_of(end).message.starts_with("session reclaimed: session_id=" + idle));
  EXPECT_NE(failure_of(end).message.find("not used for 10 min 0 s;"), std::string::npos);
  message_of(rig.turn(used, {message("user", "c")}, "d"));
  EXPECT_EQ(rig.service.counts().expired, 1);
  // It is not remembered for ever.
  rig.clock.advance(std::chrono::hours(2));
  EXPECT_EQ(failure_of(rig.begin(idle, {message("user", "a")}).get()).status, 404);
}

TEST(SessionLimits, ASessionInUseDoesNotExpire) {
  SessionRig rig({.limits = {.idle = std::chrono::minutes(10)}});
  const std::string id = rig.create();
  auto turn = rig.begin(id, {message("user", "a")});
  auto asked = rig.models.next();
  rig.clock.advance(std::chrono::hours(1));
  rig.service.expire();
  asked->answer("b");
  message_of(turn.get());
  EXPECT_EQ(rig.service.counts().sessions, 1);
}

TEST(SessionLimits, SoManyTurns) {
  SessionRig rig({.limits = {.turns_max = 2}});
  const std::string id = rig.create();
  json::array messages{message("user", "a")};
  for (int i = 0; i < 2; ++i) {
    messages.push_back(message_of(rig.turn(id, messages, "b")));
    messages.push_back(message("user", "c"));
  }
  const TurnEnd end = rig.begin(id, messages).get();
  EXPECT_EQ(failure_of(end).status, 409);
  EXPECT_NE(failure_of(end).message.find("--session-turns-max"), std::string::npos);
}

TEST(SessionLimits, SoManyBytesOfASessionAndOfAll) {
  SessionRig one({.limits = {.session_bytes_max = 4000}});
  const std::string id = one.create();
  const json::object said =
      message_of(one.turn(id, {message("user", std::string(2000, 'a'))}, "b"));
  const TurnEnd end =
      one.begin(id, {message("user", std::string(2000, 'a')), said, message("user", "c")}).get();
  EXPECT_EQ(failure_of(end).status, 507);
  EXPECT_NE(failure_of(end).message.find("--session-mb-max"), std::string::npos);
  const std::string another = one.create();
  message_of(one.turn(another, {message("user", "a")}, "b"));

  SessionRig all({.limits = {.bytes_max = 4000}});
  const std::string first = all.create();
  message_of(all.turn(first, {message("user", std::string(2000, 'a'))}, "b"));
  const auto second = all.service.create(everybody(), "");
  EXPECT_EQ(std::get<llm::Failure>(second).status, 507);
  EXPECT_NE(std::get<llm::Failure>(second).message.find("--sessions-mb-max"), std::string::npos);
  EXPECT_TRUE(std::get<bool>(all.service.remove(everybody(), first)));
  all.create();
}

TEST(SessionLimits, TheModelOfASessionIsThatOfItsFirstTurn) {
  SessionRig rig;
  const std::string id = rig.create();
  const json::object said = message_of(rig.turn(id, {message("user", "a")}, "b"));
  const TurnEnd end =
      rig.begin(id, {message("user", "a"), said, message("user", "c")}, {}, {{"model", "other"}})
          .get();
  EXPECT_EQ(failure_of(end).status, 400);
  EXPECT_EQ(failure_of(end).code, "other_model");
}

TEST(SessionLimits, AnUnknownModelIsTheOnlyOneThereIs) {
  SessionRig rig;
  const std::string id = rig.create();
  auto turn = rig.begin(id, {message("user", "a")}, {}, {{"model", "gpt-of-the-agent"}});
  rig.models.next()->answer("b");
  message_of(turn.get());
  const json::object shown = rig.show(id, RecordsShown::kNone);
  EXPECT_EQ(shown.at("metadata").at("model"), "model");
}

TEST(SessionLimits, ASessionOpensWithItsOwnKeyAndThatOfItsOwner) {
  SessionRig rig;
  const auto created = rig.service.create({.key = "alice"}, "");
  const auto& session = std::get<CreatedSession>(created);
  const auto opens = [&](const SessionViewer& viewer) {
    const auto shown = rig.service.show(viewer, session.id, RecordsShown::kNone);
    return std::holds_alternative<std::unique_ptr<BodySource>>(shown);
  };
  EXPECT_TRUE(opens({.key = "alice"}));
  EXPECT_TRUE(opens({.presented = session.key}));
  EXPECT_TRUE(opens(everybody()));
  EXPECT_FALSE(opens({.key = "bob"}));
  EXPECT_FALSE(opens({}));
  EXPECT_FALSE(opens({.presented = "ws-" + std::string(48, '0')}));
  const auto of_bob = rig.service.list({.key = "bob"});
  EXPECT_TRUE(std::get<std::vector<SessionView>>(of_bob).empty());
  const auto of_alice = rig.service.list({.key = "alice"});
  EXPECT_EQ(std::get<std::vector<SessionView>>(of_alice).size(), 1U);
  EXPECT_EQ(std::get<llm::Failure>(rig.service.remove({.key = "bob"}, session.id)).status, 401);
}

TEST(SessionLimits, TheKeyOfASessionOpensFewPathsOfTheModelsServer) {
  SessionRig rig;
  const auto created = rig.service.create({.key = "alice"}, "");
  const auto& session = std::get<CreatedSession>(created);
  const auto pass = [&](const SessionViewer& viewer, std::string_view target) {
    auto promise = std::make_shared<std::promise<int32_t>>();
    auto status = promise->get_future();
    const size_t asked = rig.models.asked();
    rig.service.pass(viewer, session.id,
                     {.method = llm::HttpMethod::kGet, .target = std::string(target)}, "", {}, {},
                     [promise](std::variant<PassedReply, llm::Failure> got) {
                       const auto* failure = std::get_if<llm::Failure>(&got);
                       promise->set_value(failure != nullptr ? failure->status
                                                             : std::get<PassedReply>(got).status);
                     });
    if (rig.models.asked() > asked) rig.models.next()->answer(PassedReply{.status = 200});
    return status.get();
  };
  EXPECT_EQ(pass({.presented = session.key}, "/v1/models"), 200);
  EXPECT_EQ(pass({.presented = session.key}, "/flush_cache"), 401);
  // HTTP clients resolve the dots of a path.
  EXPECT_EQ(pass({.presented = session.key}, "/v1/models/../../flush_cache"), 401);
  EXPECT_EQ(pass({.key = "alice"}, "/flush_cache"), 200);
  EXPECT_EQ(pass({.key = "bob"}, "/v1/models"), 401);
  EXPECT_EQ(pass(everybody(), "/flush_cache"), 200);
}

TEST(SessionLimits, FieldsThatTheSessionAnswersForAreRefused) {
  SessionRig rig;
  const std::string id = rig.create();
  const auto refusal = [&](json::object more) {
    return failure_of(rig.begin(id, {message("user", "a")}, {}, std::move(more)).get()).message;
  };
  EXPECT_EQ(refusal({{"input_ids", {1, 2, 3}}}),
            "input_ids=[1,2,3] is not accepted: TITO token ids are rendered by the session server");
  EXPECT_EQ(refusal({{"routed_experts_start_len", 0}}),
            "routed_experts_start_len=0 is not accepted: R3 offsets are computed by the session "
            "server");
  EXPECT_NE(refusal({{"n", 2}}).find("n=2 is not accepted"), std::string::npos);
  EXPECT_EQ(refusal({{"chat_template_kwargs", 1}}), "chat_template_kwargs must be an object");
  EXPECT_EQ(failure_of(rig.begin(id, {}).get()).message,
            "messages must be a list with at least one message");
  message_of(rig.turn(id, {message("user", "a")}, "b"));
}

}  // namespace
}  // namespace windrow::session
