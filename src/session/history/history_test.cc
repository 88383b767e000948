#include "session/history/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace windrow::session {
namespace {

using Texts = std::vector<std::string>;

StoredMessage message(const std::string& text) {
  return {.key = hash128(text), .text = text};
}

std::vector<MessageKey> keys_of(const Texts& texts) {
  std::vector<MessageKey> keys;
  for (const std::string& text : texts)
    keys.push_back(hash128(text));
  return keys;
}

// A turn that answers the request, of which the first `known` messages are its parent's.
std::shared_ptr<Turn> turn_of(const Texts& request, size_t known, const std::string& answer,
                              const std::string& finish_reason = "stop") {
  auto turn = std::make_shared<Turn>();
  for (size_t i = known; i < request.size(); ++i)
    turn->appended.push_back(message(request[i]));
  turn->answer = message(answer);
  turn->finish_reason = finish_reason;
  return turn;
}

Attachment attached(const History& history, const Texts& request) {
  const auto found = history.attach(keys_of(request));
  EXPECT_TRUE(std::holds_alternative<Attachment>(found));
  return std::holds_alternative<Attachment>(found) ? std::get<Attachment>(found) : Attachment();
}

llm::Failure refused(const History& history, const Texts& request) {
  const auto found = history.attach(keys_of(request));
  EXPECT_TRUE(std::holds_alternative<llm::Failure>(found));
  return std::holds_alternative<llm::Failure>(found) ? std::get<llm::Failure>(found)
                                                     : llm::Failure();
}

TurnId answer(History& history, const Texts& request, const std::string& answer,
              const std::string& finish_reason = "stop") {
  const Attachment found = attached(history, request);
  const auto turn = turn_of(request, found.parent_messages, answer, finish_reason);
  EXPECT_TRUE(history.commit(found, turn));
  return turn->id;
}

// u1 -> a1, t1 -> a2, and so on.
History history_of(size_t turns, HistoryOptions options = {}) {
  History history(options);
  Texts request = {"u1"};
  for (size_t i = 1; i <= turns; ++i) {
    answer(history, request, fmt::format("a{}", i));
    request.push_back(fmt::format("a{}", i));
    request.push_back(fmt::format("t{}", i));
  }
  return history;
}

History tree_of(size_t turns) {
  return history_of(turns, {.kind = HistoryKind::kTree});
}

std::vector<uint64_t> ids_of(const std::vector<TurnPtr>& turns) {
  std::vector<uint64_t> ids;
  for (const TurnPtr& turn : turns)
    ids.push_back(turn->id.value());
  return ids;
}

using Ids = std::vector<uint64_t>;

TEST(History, TheFirstRequestBeginsAConversation) {
  History history({});
  const Attachment found = attached(history, {"s", "u1"});
  EXPECT_EQ(found.parent, TurnId());
  EXPECT_EQ(found.parent_messages, 0U);
  EXPECT_TRUE(history.latest().empty());

  EXPECT_EQ(answer(history, {"s", "u1"}, "a1"), TurnId(1));
  EXPECT_EQ(history.size(), 1U);
  EXPECT_EQ(history.epoch(), 1U);
  EXPECT_EQ(ids_of(history.latest().turns()), Ids{1});
}

TEST(History, ARequestGoesOnFromTheLastTurn) {
  History history = history_of(2);
  const Attachment found = attached(history, {"u1", "a1", "t1", "a2", "t2"});
  EXPECT_EQ(found.parent, TurnId(2));
  EXPECT_EQ(found.parent_messages, 4U);
  EXPECT_EQ(found.left_out, 0U);
  EXPECT_EQ(answer(history, {"u1", "a1", "t1", "a2", "t2"}, "a3"), TurnId(3));
  EXPECT_EQ(ids_of(history.latest().turns()), (Ids{1, 2, 3}));
  EXPECT_EQ(history.turns().back()->parent, TurnId(2));
}

TEST(History, TheWholeConversationSentAgainIsATurnWithNothingAppended) {
  for (const HistoryKind kind : {HistoryKind::kLinear, HistoryKind::kTree}) {
    History history = history_of(2, {.kind = kind});
    const Texts whole = {"u1", "a1", "t1", "a2"};
    const Attachment found = attached(history, whole);
    EXPECT_EQ(found.parent, TurnId(2));
    EXPECT_EQ(found.parent_messages, whole.size());
    answer(history, whole, "more");
    EXPECT_EQ(history.size(), 3U);
    EXPECT_TRUE(history.latest().last().appended.empty());
  }
}

TEST(History, ARetryReplacesTheLastTurnWhenItIsCommitted) {
  History history = history_of(2);
  for (const Texts& request : {Texts{"u1", "a1", "t1"}, Texts{"u1", "a1", "other"}}) {
    const Attachment found = attached(history, request);
    EXPECT_EQ(found.parent, TurnId(1));
    EXPECT_EQ(found.parent_messages, 2U);
    EXPECT_EQ(found.left_out, 1U);
    EXPECT_EQ(ids_of(history.turns()), (Ids{1, 2})) << "nothing is removed by asking";
  }
  EXPECT_EQ(answer(history, {"u1", "a1", "other"}, "b2"), TurnId(3));
  EXPECT_EQ(ids_of(history.turns()), (Ids{1, 3}));
  EXPECT_EQ(history.rollbacks(), 1);
  EXPECT_EQ(history.latest().last().parent, TurnId(1));
  EXPECT_TRUE(history.path(TurnId(2)).empty());
}

TEST(History, TheFirstRequestSentAgainBeginsAnew) {
  History history = history_of(1);
  const Attachment found = attached(history, {"u1"});
  EXPECT_EQ(found.parent, TurnId());
  EXPECT_EQ(found.parent_messages, 0U);
  EXPECT_EQ(found.left_out, 1U);
  answer(history, {"u1"}, "b1");
  EXPECT_EQ(ids_of(history.turns()), Ids{2});
  EXPECT_EQ(attached(history, {"u1", "b1", "t1"}).parent, TurnId(2));
}

TEST(History, ADeeperRollbackIsRefusedWithTheReferencesText) {
  History history = history_of(3);
  const llm::Failure failure = refused(history, {"u1", "a1", "other"});
  EXPECT_EQ(failure.status, 400);
  EXPECT_EQ(failure.code, "rollback_too_deep");
  EXPECT_EQ(failure.message,
            "rollback failed: discard_count=2 exceeds max_assistant_rollback_steps=1 (stored has 6 "
            "messages, request has 3 messages)");
  EXPECT_EQ(ids_of(history.turns()), (Ids{1, 2, 3}));
  EXPECT_EQ(attached(history, {"u1", "a1", "t1", "a2", "t2", "a3", "t3"}).parent, TurnId(3));
  EXPECT_EQ(refused(history, {"other"}).code, "rollback_too_deep");
  EXPECT_EQ(refused(history, {}).code, "rollback_too_deep");
}

TEST(History, MoreTurnsMayBeLeftOutWhereThatIsSet) {
  const History history = history_of(3, {.rollback_turns = 2});
  EXPECT_EQ(attached(history, {"u1", "a1", "other"}).left_out, 2U);
  EXPECT_EQ(refused(history, {"u1"}).status, 400);
}

TEST(History, AssistantsThatTheClientSentAreNoTurns) {
  History history({});
  answer(history, {"q", "shot", "q2"}, "a1");
  answer(history, {"q", "shot", "q2", "a1", "t1", "injected", "u"}, "a2");

  const Attachment retry = attached(history, {"q", "shot", "q2", "a1", "t1", "injected", "other"});
  EXPECT_EQ(retry.parent, TurnId(1));
  EXPECT_EQ(retry.parent_messages, 4U);
  EXPECT_EQ(retry.left_out, 1U);
  EXPECT_EQ(refused(history, {"q", "shot"}).code, "rollback_too_deep");
}

TEST(History, OfTwoTurnsAtTheSameTimeTheSecondIsNotCommitted) {
  History history = history_of(1);
  const Texts request = {"u1", "a1", "t1"};
  const Attachment first = attached(history, request);
  const Attachment second = attached(history, request);
  EXPECT_TRUE(history.commit(first, turn_of(request, 2, "a2")));
  const size_t bytes = history.bytes();
  EXPECT_FALSE(history.commit(second, turn_of(request, 2, "late")));
  EXPECT_EQ(ids_of(history.turns()), (Ids{1, 2}));
  EXPECT_EQ(history.latest().last().answer.text, "a2");
  EXPECT_EQ(history.bytes(), bytes);
  EXPECT_EQ(history.epoch(), 2U);
}

// The number of turns is then what it was, and the conversation is another one.
TEST(History, ATurnIsNotCommittedAfterARollbackAndAnotherTurn) {
  History history = history_of(2);
  const Attachment late = attached(history, {"u1", "a1", "t1", "a2", "t2"});
  answer(history, {"u1", "a1", "other"}, "b2");
  EXPECT_EQ(history.size(), 2U);
  EXPECT_FALSE(history.commit(late, turn_of({"t2"}, 0, "late")));
  EXPECT_EQ(ids_of(history.turns()), (Ids{1, 3}));

  const Attachment retry = attached(history, {"u1", "a1", "third"});
  answer(history, {"u1", "a1", "fourth"}, "c2");
  EXPECT_EQ(history.size(), 2U);
  EXPECT_FALSE(history.commit(retry, turn_of({"third"}, 0, "late")));
  EXPECT_EQ(history.latest().last().answer.text, "c2");
}

TEST(History, ALineGoesOnAfterATurnThatWasCut) {
  History history({});
  answer(history, {"u1"}, "a1", "length");
  EXPECT_EQ(attached(history, {"u1", "a1", "t1"}).parent, TurnId(1));
}

TEST(History, ALineHasAMostOfTurns) {
  History history = history_of(3, {.turns_max = 3});
  const llm::Failure failure = refused(history, {"u1", "a1", "t1", "a2", "t2", "a3", "t3"});
  EXPECT_EQ(failure.status, 409);
  EXPECT_EQ(failure.code, "too_many_turns");
  EXPECT_EQ(failure.message,
            "the conversation has 3 turns, and a session may have 3 (--session-turns-max): collect "
            "its samples and go on in a new session, or raise the limit");
  answer(history, {"u1", "a1", "t1", "a2", "other"}, "b3");
  EXPECT_EQ(history.size(), 3U);
}

TEST(History, APathOutlivesTheTurnsOfItsHistory) {
  History history = history_of(2);
  const TurnPath path = history.latest();
  answer(history, {"u1", "a1", "other"}, "b2");
  EXPECT_EQ(path.last().answer.text, "a2");
  EXPECT_EQ(path.messages(), 4U);
}

TEST(History, ATreeBranchesWhereTheRequestDiffers) {
  History history = tree_of(3);
  const Attachment found = attached(history, {"u1", "a1", "t1", "a2", "other"});
  EXPECT_EQ(found.parent, TurnId(2));
  EXPECT_EQ(found.parent_messages, 4U);
  EXPECT_EQ(found.left_out, 0U);
  EXPECT_EQ(attached(history, {"u1", "a1", "other"}).parent, TurnId(1));
  EXPECT_EQ(attached(history, {"u1", "a1", "t1", "rewritten", "u"}).parent, TurnId(1));

  EXPECT_EQ(answer(history, {"u1", "a1", "other"}, "b2"), TurnId(4));
  EXPECT_EQ(history.size(), 4U);
  EXPECT_EQ(history.rollbacks(), 0);
  EXPECT_EQ(ids_of(history.path(TurnId(3)).turns()), (Ids{1, 2, 3}));
  EXPECT_EQ(ids_of(history.path(TurnId(4)).turns()), (Ids{1, 4}));
  EXPECT_EQ(ids_of(history.latest().turns()), (Ids{1, 4}));
  EXPECT_EQ(history.leaves(), (std::vector{TurnId(3), TurnId(4)}));
}

TEST(History, ATreeBeginsANewConversationWhereNoTurnMatchesWhole) {
  History history = tree_of(2);
  for (const Texts& request : {Texts{}, Texts{"other"}, Texts{"u1"}, Texts{"u1", "rewritten"}}) {
    const Attachment found = attached(history, request);
    EXPECT_EQ(found.parent, TurnId());
    EXPECT_EQ(found.parent_messages, 0U);
  }
  EXPECT_EQ(answer(history, {"u1"}, "b1"), TurnId(3));
  EXPECT_EQ(history.leaves(), (std::vector{TurnId(2), TurnId(3)}));
  EXPECT_EQ(ids_of(history.path(TurnId(3)).turns()), Ids{3});
}

TEST(History, OfEqualTurnsInATreeTheLatestGoesOn) {
  History history = tree_of(1);
  answer(history, {"u1", "a1", "t1"}, "same");
  answer(history, {"u1", "a1", "t1"}, "same");
  EXPECT_EQ(attached(history, {"u1", "a1", "t1", "same", "t2"}).parent, TurnId(3));
  answer(history, {"u1"}, "a1");
  EXPECT_EQ(attached(history, {"u1", "a1", "x"}).parent, TurnId(4));
  EXPECT_EQ(attached(history, {"u1", "a1", "t1", "same", "t2"}).parent, TurnId(3))
      << "a deeper match is better than a later one";
}

TEST(History, TurnsOfATreeAtTheSameTimeAreSiblings) {
  History history = tree_of(1);
  const Texts request = {"u1", "a1", "t1"};
  const Attachment first = attached(history, request);
  const Attachment second = attached(history, request);
  EXPECT_TRUE(history.commit(first, turn_of(request, 2, "a2")));
  EXPECT_TRUE(history.commit(second, turn_of(request, 2, "b2")));
  EXPECT_EQ(history.leaves(), (std::vector{TurnId(2), TurnId(3)}));
  for (const uint64_t id : Ids{2, 3})
    EXPECT_EQ(ids_of(history.path(TurnId(id)).turns()), (Ids{1, id}));
}

TEST(History, ATreeDoesNotGoOnAfterATurnThatWasCut) {
  History history = tree_of(1);
  answer(history, {"u1", "a1", "t1"}, "cut", "length");
  const llm::Failure failure = refused(history, {"u1", "a1", "t1", "cut", "u"});
  EXPECT_EQ(failure.status, 409);
  EXPECT_EQ(failure.code, "truncated_turn");
  EXPECT_EQ(failure.message,
            "truncated generation cannot be extended: the matched node ended with "
            "finish_reason='length' and truncation closes that path for good; branch before the "
            "cut instead");
  EXPECT_EQ(attached(history, {"u1", "a1", "other"}).parent, TurnId(1));
}

TEST(History, ATreeHasAMostOfTurns) {
  History history = history_of(2, {.kind = HistoryKind::kTree, .turns_max = 2});
  for (const Texts& request : {Texts{"other"}, Texts{"u1", "a1", "t1", "a2"}}) {
    const llm::Failure failure = refused(history, request);
    EXPECT_EQ(failure.status, 409);
    EXPECT_EQ(failure.code, "too_many_turns");
    EXPECT_TRUE(failure.message.starts_with(
        "the session has 2 turns, and a session may have 2 (--session-turns-max): "))
        << failure.message;
  }
}

TEST(History, ALongConversationIsFoundByItsKeys) {
  for (const HistoryKind kind : {HistoryKind::kLinear, HistoryKind::kTree}) {
    const History history = history_of(1023, {.kind = kind});
    Texts request;
    for (size_t i = 1; i <= 1023; ++i) {
      request.push_back(i == 1 ? "u1" : fmt::format("t{}", i - 1));
      request.push_back(fmt::format("a{}", i));
    }
    EXPECT_EQ(attached(history, request).parent, TurnId(1023));
    request.back() = "other";
    EXPECT_EQ(attached(history, request).parent, TurnId(1022));
    EXPECT_EQ(history.latest().turns().size(), 1023U);
  }
}

TEST(History, CountsSharedMembersOnce) {
  History history({});
  const auto sent = std::make_shared<const std::string>(std::string(1000, 's'));
  const auto got = std::make_shared<const std::string>(std::string(500, 'g'));
  Texts request = {"u1"};
  size_t expected = 0;
  for (size_t i = 0; i < 3; ++i) {
    const Attachment found = attached(history, request);
    const auto turn = turn_of(request, found.parent_messages, fmt::format("a{}", i));
    turn->sampled.assign(100, 7);
    turn->request_members = sent;
    turn->reply_members = i == 2 ? std::make_shared<const std::string>(*got) : got;
    expected += bytes_of(*turn);
    if (i > 0) expected -= bytes_of_members(*sent);
    if (i == 1) expected -= bytes_of_members(*got);
    request.push_back(fmt::format("a{}", i));
    request.push_back(fmt::format("t{}", i));
    ASSERT_TRUE(history.commit(found, turn));
    ASSERT_EQ(history.bytes(), expected);
  }
  request.resize(4);  // the third turn is left out, and one without members takes its place
  const TurnPtr removed = history.latest().turns().back();
  const Attachment found = attached(history, request);
  const auto turn = turn_of(request, found.parent_messages, "other");
  ASSERT_TRUE(history.commit(found, turn));
  EXPECT_EQ(history.bytes(),
            expected - (bytes_of(*removed) - bytes_of_members(*sent)) + bytes_of(*turn));
}

}  // namespace
}  // namespace windrow::session
