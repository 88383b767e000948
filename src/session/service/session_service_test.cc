#include "session/service/session_service.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "session/testing/session_rig.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

using llm::testing::ChatmlTokenizer;
using testing::everybody;
using testing::message;
using testing::message_of;
using testing::SessionRig;

llm::Failure failure_of(const TurnEnd& end) {
  const auto* failure = std::get_if<llm::Failure>(&end);
  EXPECT_NE(failure, nullptr);
  return failure == nullptr ? llm::Failure{} : *failure;
}

std::vector<int32_t> tokens_of(SessionRig& rig, std::string_view session) {
  const json::object shown = rig.show(session, RecordsShown::kNone);
  return json::value_to<std::vector<int32_t>>(shown.at("metadata").at("accumulated_token_ids"));
}

size_t records_of(SessionRig& rig, std::string_view session) {
  return rig.show(session).at("records").as_array().size();
}

// The first sample's tensor of experts, whose shape is checked if it is given.
std::vector<int32_t> rows_of(const std::string& samples, const json::array& shape = {}) {
  constexpr size_t kLength = 8;
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, samples.data(), kLength);
  const json::value header = json::parse(samples.substr(kLength, header_bytes));
  const json::object& tensor = header.at("rollout_routed_experts.0").as_object();
  if (!shape.empty()) EXPECT_EQ(tensor.at("shape"), shape);
  const auto begin = tensor.at("data_offsets").at(0).to_number<size_t>();
  const auto end = tensor.at("data_offsets").at(1).to_number<size_t>();
  std::vector<int32_t> values((end - begin) / sizeof(int32_t));
  std::memcpy(values.data(), samples.data() + kLength + header_bytes + begin, end - begin);
  return values;
}

TEST(SessionService, AnIdHas32HexadecimalDigitsAndNoOtherIsFound) {
  SessionRig rig;
  const std::string id = rig.create();
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(id, rig.create());
  const auto found = rig.service.show(everybody(), "nonexistent", RecordsShown::kAll);
  EXPECT_EQ(std::get<llm::Failure>(found).status, 404);
  EXPECT_EQ(std::get<llm::Failure>(found).message, "session not found: session_id=nonexistent");
  EXPECT_EQ(failure_of(rig.begin("nonexistent", {message("user", "a")}).get()).status, 404);
}

TEST(SessionService, ALaterTurnReadsExactlyTheTokensOfTheOnesBefore) {
  SessionRig rig;
  const std::string id = rig.create();
  auto first = rig.begin(id, {message("user", "fizz buzz?")});
  auto asked = rig.models.next();
  const std::vector<int32_t> prompt = asked->question.prompt;
  // Two tokens where the tokenizer would write one.
  TurnAnswer answer = testing::make_answer(asked->question, "fi");
  answer.reply.tokens = {'f', 'i', 'z', 'z', ChatmlTokenizer::kEnd};
  answer.reply.logprobs = {-1, -2, -3, -4, -5};
  answer.choice->text = "fizz";
  answer.message = message("assistant", "fizz");
  asked->answer(std::move(answer));
  const json::object said = message_of(first.get());
  EXPECT_EQ(said.at("content"), "fizz");

  auto second = rig.begin(id, {message("user", "fizz buzz?"), said, message("user", "more")});
  asked = rig.models.next();
  std::vector<int32_t> expected = prompt;
  expected.insert(expected.end(), {'f', 'i', 'z', 'z', ChatmlTokenizer::kEnd});
  ASSERT_GT(asked->question.prompt.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), asked->question.prompt.begin()));
  EXPECT_EQ(asked->question.chat.messages.size(), 3U);
  asked->answer("buzz");
  message_of(second.get());
  EXPECT_EQ(records_of(rig, id), 2U);
}

TEST(SessionService, ConcurrentTurnsAllReachTheModelAndOneStays) {
  SessionRig rig;
  const std::string id = rig.create();
  std::vector<std::future<TurnEnd>> ends;
  std::vector<std::shared_ptr<testing::ScriptedModels::Asked>> asked;
  for (int i = 0; i < 3; ++i)
    ends.push_back(rig.begin(id, {message("user", "hello")}));
  for (int i = 0; i < 3; ++i)
    asked.push_back(rig.models.next());
  asked[1]->answer("one");
  EXPECT_EQ(message_of(ends[1].get()).at("content"), "one");
  asked[0]->answer("two");
  asked[2]->answer("three");
  EXPECT_EQ(message_of(ends[0].get()).at("content"), "two");
  EXPECT_EQ(message_of(ends[2].get()).at("content"), "three");
  EXPECT_EQ(records_of(rig, id), 1U);
  EXPECT_EQ(rig.service.counts().turns_committed, 1);
  EXPECT_EQ(rig.service.counts().turns_overtaken, 2);
}

TEST(SessionService, InATreeConcurrentTurnsAreSiblings) {
  SessionRig rig;
  const std::string id = rig.create(R"({"history": "tree"})");
  std::vector<std::future<TurnEnd>> ends;
  for (int i = 0; i < 3; ++i)
    ends.push_back(rig.begin(id, {message("user", "hello")}));
  for (int i = 0; i < 3; ++i)
    rig.models.next()->answer(std::to_string(i));
  for (auto& end : ends)
    message_of(end.get());
  const json::object shown = rig.show(id);
  EXPECT_EQ(shown.at("records").as_array().size(), 1U);
  EXPECT_EQ(shown.at("metadata").at("tree").at("nodes").as_array().size(), 3U);
  EXPECT_EQ(shown.at("metadata").at("tree").at("leaves").as_array().size(), 3U);
}

TEST(SessionService, TheTurnsOfALineAreShownAsATreeWithoutBranches) {
  SessionRig rig;
  const std::string id = rig.create();
  const json::object first = message_of(rig.turn(id, {message("user", "a")}, "one"));
  rig.turn(id, {message("user", "a"), first, message("user", "b")}, "two");
  const json::object shown = rig.show(id);
  const json::object& tree = shown.at("metadata").at("tree").as_object();
  const json::array& nodes = tree.at("nodes").as_array();
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_TRUE(nodes[0].at("parent").is_null());
  EXPECT_EQ(nodes[1].at("parent"), nodes[0].at("id"));
  EXPECT_EQ(tree.at("leaves").as_array().size(), 1U);
}

TEST(SessionService, ARetryThatFailsLosesNothing) {
  SessionRig rig;
  const std::string id = rig.create();
  const json::object first = message_of(rig.turn(id, {message("user", "a")}, "one"));
  rig.turn(id, {message("user", "a"), first, message("user", "b")}, "two");
  const std::vector<int32_t> before = tokens_of(rig, id);

  auto retry = rig.begin(id, {message("user", "a"), first, message("user", "c")});
  rig.models.next()->answer(
      PassedReply{.status = 500, .content_type = "text/plain", .body = "no\r\n"});
  const TurnEnd end = retry.get();
  const auto& passed = std::get<PassedReply>(end);
  EXPECT_EQ(passed.status, 500);
  EXPECT_EQ(passed.body, "no\r\n");
  EXPECT_EQ(tokens_of(rig, id), before);

  rig.turn(id, {message("user", "a"), first, message("user", "c")}, "three");
  EXPECT_EQ(records_of(rig, id), 2U);
  EXPECT_NE(tokens_of(rig, id), before);
  EXPECT_EQ(rig.service.counts().rollbacks, 1);
}

TEST(SessionService, ASessionWhoseFirstTurnFailedTakesAnother) {
  SessionRig rig;
  const std::string id = rig.create();
  auto failed = rig.begin(id, {message("user", "a")});
  rig.models.next()->answer(llm::Failure{.status = 502, .message = "gone"});
  EXPECT_EQ(failure_of(failed.get()).status, 502);
  message_of(rig.turn(id, {message("system", "x"), message("user", "b")}, "one"));
  EXPECT_EQ(records_of(rig, id), 1U);
}

TEST(SessionService, ADeletedSessionStopsItsTurnsAndStaysDeleted) {
  SessionRig rig;
  const std::string id = rig.create();
  auto turn = rig.begin(id, {message("user", "a")});
  const auto asked = rig.models.next();
  EXPECT_TRUE(std::get<bool>(rig.service.remove(everybody(), id)));
  EXPECT_EQ(failure_of(turn.get()).status, 404);
  asked->answer("too late");
  EXPECT_EQ(std::get<llm::Failure>(rig.service.remove(everybody(), id)).status, 404);
  EXPECT_EQ(failure_of(rig.begin(id, {message("user", "a")}).get()).status, 404);
  EXPECT_EQ(rig.service.counts().sessions, 0);
  EXPECT_EQ(rig.service.counts().bytes, 0);
  EXPECT_EQ(rig.service.counts().in_flight, 0);
}

TEST(SessionService, WhereOrphansAreCommittedADeletedSessionStillAnswersItsTurn) {
  SessionRig rig({.defaults = {.orphans = OrphanRule::kCommit}});
  const std::string id = rig.create();
  auto turn = rig.begin(id, {message("user", "a")});
  const auto asked = rig.models.next();
  EXPECT_TRUE(std::get<bool>(rig.service.remove(everybody(), id)));
  asked->answer("late");
  EXPECT_EQ(message_of(turn.get()).at("content"), "late");
  EXPECT_EQ(rig.service.counts().turns_committed, 0);
  EXPECT_EQ(rig.service.counts().bytes, 0);
}

TEST(SessionService, OfSeveralDeletesOneSucceeds) {
  SessionRig rig;
  for (int round = 0; round < 20; ++round) {
    const std::string id = rig.create();
    std::atomic<int> removed = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
          if (std::holds_alternative<bool>(rig.service.remove(everybody(), id))) ++removed;
        });
      }
    }
    EXPECT_EQ(removed, 1);
  }
}

TEST(SessionService, AClientThatLeavesTakesItsTurnAlongOrNot) {
  SessionRig rig;
  const std::string stops = rig.create();
  const std::string commits = rig.create(R"({"orphans": "commit"})");
  std::stop_source left;
  auto stopped = rig.begin(stops, {message("user", "a")}, left.get_token());
  const auto of_stopped = rig.models.next();
  auto kept = rig.begin(commits, {message("user", "a")}, left.get_token());
  const auto of_kept = rig.models.next();
  left.request_stop();
  EXPECT_EQ(failure_of(stopped.get()).failure_class, llm::FailureClass::kCancelled);
  of_stopped->answer("unheard");
  of_kept->answer("kept");
  message_of(kept.get());
  EXPECT_EQ(records_of(rig, stops), 0U);
  EXPECT_EQ(records_of(rig, commits), 1U);
}

TEST(SessionService, AServiceThatStopsEndsItsTurns) {
  SessionRig rig;
  const std::string id = rig.create();
  auto turn = rig.begin(id, {message("user", "a")});
  const auto asked = rig.models.next();
  rig.service.stop();
  EXPECT_EQ(failure_of(turn.get()).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(failure_of(rig.begin(id, {message("user", "a")}).get()).status, 503);
}

TEST(SessionService, AStreamBeginsWithTheFirstDelta) {
  SessionRig rig;
  const std::string id = rig.create();
  struct Sink final : llm::StreamSink {
    std::string text;
    void on_delta(llm::Delta piece) override {
      text += piece.text;
      EXPECT_TRUE(piece.token_ids.empty());
    }
  };
  auto sink = std::make_shared<Sink>();
  int begun = 0;
  const auto turn = [&] {
    auto promise = std::make_shared<std::promise<TurnEnd>>();
    auto end = promise->get_future();
    rig.service.turn({.session = id,
                      .viewer = everybody(),
                      .body = R"({"stream": true, "messages": [{"role":"user","content":"a"}]})",
                      .begin_stream =
                          [&](const StreamBegin& begin) {
                            EXPECT_TRUE(begin.id.starts_with("chatcmpl-"));
                            ++begun;
                            return sink;
                          }},
                     {}, [promise](TurnEnd ended) { promise->set_value(std::move(ended)); });
    return end;
  };
  auto refused = turn();
  rig.models.next()->answer(llm::Failure{.status = 429, .message = "full"});
  EXPECT_EQ(failure_of(refused.get()).status, 429);
  EXPECT_EQ(begun, 0);

  auto streamed = turn();
  auto asked = rig.models.next();
  ASSERT_NE(asked->listener, nullptr);
  // What the engine tells and the client did not ask for is not streamed.
  asked->listener->on_delta({.token_ids = {1}, .prompt_token_ids = {2, 3}});
  EXPECT_EQ(begun, 0);
  asked->listener->on_delta({.text = "hel", .token_ids = {4}});
  asked->listener->on_delta({.text = "lo", .finish_reason = llm::FinishReason::kStop});
  asked->answer("hello");
  EXPECT_TRUE(std::get<TurnResult>(streamed.get()).streamed);
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(sink->text, "hello");
  EXPECT_EQ(records_of(rig, id), 1U);
}

TEST(SessionService, AServersOwnChatIsStreamedAsAWhole) {
  SessionRig rig({}, ModelKind::kSglangChat);
  const std::string id = rig.create();
  auto turn = rig.begin(id, {message("user", "a")}, {}, {{"stream", true}});
  auto asked = rig.models.next();
  EXPECT_EQ(asked->listener, nullptr);
  EXPECT_FALSE(asked->question.body.contains("stream"));
  asked->answer("hello");
  EXPECT_TRUE(std::get<TurnResult>(turn.get()).wants_stream);
}

// Messages are compared with the template's words as they were read for the prompt: texts in parts
// joined, arguments of calls as objects.
TEST(SessionService, MessagesInAnyFormMakeNoMismatches) {
  SessionRig rig;
  const std::string id = rig.create();
  const json::object part{{"type", "text"}, {"text", "a"}};
  json::object call{{"id", "c1"},
                    {"type", "function"},
                    {"function", {{"name", "f"}, {"arguments", R"({"x": 1})"}}}};
  const json::array messages{{{"role", "user"}, {"content", {part, part}}},
                             {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call}}},
                             {{"role", "tool"}, {"tool_call_id", "c1"}, {"content", {part}}}};
  message_of(rig.turn(id, messages, "b"));
  const json::object shown = rig.show(id, RecordsShown::kNone);
  EXPECT_EQ(shown.at("metadata").at("tito_session_mismatch"), json::array());
}

TEST(SessionService, ToolsAreKeptOnceThoughOtherMembersChange) {
  SessionRig rig({}, ModelKind::kSglangChat);
  const std::string id = rig.create();
  constexpr size_t kLong = 20'000;
  const json::array tools{
      {{"type", "function"},
       {"function", {{"name", "f"}, {"description", std::string(kLong, 'x')}}}}};
  json::array messages{message("user", "a")};
  for (int i = 0; i < 4; ++i) {
    auto turn = rig.begin(id, messages, {}, {{"tools", tools}, {"max_tokens", 100 - i}});
    auto asked = rig.models.next();
    TurnAnswer answer = testing::make_answer(asked->question, "b");
    answer.sent = {{"max_tokens", 100 - i}, {"tools", tools}};
    asked->answer(std::move(answer));
    messages.push_back(message_of(turn.get()));
    messages.push_back(message("user", "more"));
  }
  // In the prompt, as they were sent, and as they were read.
  EXPECT_LT(rig.service.counts().bytes, kLong * sizeof(int32_t) + 3 * kLong);
  const json::object shown = rig.show(id);
  for (const json::value& record : shown.at("records").as_array())
    EXPECT_EQ(record.at("request").at("tools"), tools);
  EXPECT_EQ(shown.at("records").at(3).at("request").at("max_tokens"), 97);
}

// They may have as many elements as the conversation has tokens, turn by turn.
TEST(SessionService, OfAServersMetaInfoListsOfTokensAreNotKept) {
  SessionRig rig({}, ModelKind::kSglangChat);
  const std::string id = rig.create();
  auto turn = rig.begin(id, {message("user", "a")});
  auto asked = rig.models.next();
  TurnAnswer answer = testing::make_answer(asked->question, "hello");
  answer.choice.reset();
  const json::object meta_info{{"id", "r"}, {"hidden_states", {1, 2}}, {"input_top_logprobs", {1}}};
  answer.reply.chat = {{"choices", {{{"message", answer.message}, {"meta_info", meta_info}}}}};
  asked->answer(std::move(answer));
  message_of(turn.get());
  const json::object record = rig.show(id).at("records").at(0).as_object();
  const json::object& kept = record.at("response").at("choices").at(0).at("meta_info").as_object();
  EXPECT_EQ(kept.at("id"), "r");
  EXPECT_FALSE(kept.contains("hidden_states"));
  EXPECT_FALSE(kept.contains("input_top_logprobs"));
}

TEST(SessionService, SamplesHaveTheRowsOfEveryTurnThoughOnlyNewOnesAreKept) {
  SessionRig rig({.defaults = {.routed_experts = true, .routed_layers = 2}});
  const std::string id = rig.create();
  const testing::RowValues rows = [](RowKind, size_t row) {
    const auto value = static_cast<int32_t>(row);
    return std::vector<int32_t>{value, value + 1, value + 2, value + 3};
  };
  json::array messages{message("user", "a")};
  for (int i = 0; i < 5; ++i) {
    auto turn = rig.begin(id, messages);
    auto asked = rig.models.next();
    EXPECT_EQ(asked->question.rows[0].first_row == 0, i == 0);
    asked->answer("answer " + std::to_string(i), "stop", rows);
    messages.push_back(message_of(turn.get()));
    messages.push_back(message("user", "more"));
  }
  const std::vector<int32_t> tokens = tokens_of(rig, id);
  const std::vector<int32_t> values = rows_of(rig.samples(id), {tokens.size() - 1, 2, 2});
  for (size_t row = 0; row + 1 < tokens.size(); ++row)
    ASSERT_EQ(values[row * 4], static_cast<int32_t>(row));
}

TEST(SessionService, RowsThatWereComputedAgainReplaceTheEarlierOnes) {
  SessionRig rig({.defaults = {.routed_experts = true, .keeps_last_rows = true}});
  const std::string id = rig.create();
  json::array messages{message("user", "a")};
  for (int32_t i = 0; i < 3; ++i) {
    auto turn = rig.begin(id, messages);
    auto asked = rig.models.next();
    EXPECT_EQ(asked->question.rows[0].first_row, 0U);
    asked->answer("answer", "stop", [i](RowKind, size_t row) {
      // The first turn's tokens are routed otherwise each time, all others never.
      return std::vector<int32_t>{row < 5 ? 100 + i : static_cast<int32_t>(row % 100)};
    });
    messages.push_back(message_of(turn.get()));
    messages.push_back(message("user", "more"));
  }
  const std::vector<int32_t> rows = rows_of(rig.samples(id));
  ASSERT_EQ(rows.size(), tokens_of(rig, id).size() - 1);
  for (size_t row = 0; row < rows.size(); ++row)
    EXPECT_EQ(rows[row], row < 5 ? 102 : static_cast<int32_t>(row % 100));
  // One copy of each row is kept.
  const auto bytes = rig.service.counts().bytes;
  EXPECT_LT(bytes, 10'000);
}

TEST(SessionService, EvaluationAsksForNoRows) {
  SessionRig rig({.defaults = {.routed_experts = true}});
  const std::string id = rig.create(R"({"evaluation": true, "temperature": 0.5})");
  auto turn = rig.begin(id, {message("user", "a")});
  auto asked = rig.models.next();
  EXPECT_FALSE(asked->question.rows[0].wanted);
  EXPECT_EQ(asked->question.body.at("temperature"), 0.5);
  asked->answer("b");
  message_of(turn.get());
}

// As deep as a body may be, which is deeper than the library's parser goes by default.
TEST(SessionService, KeepsWhatIsNestedDeep) {
  SessionRig rig;
  const std::string id = rig.create();
  json::value schema = json::object{{"type", "string"}};
  for (int i = 0; i < 50; ++i)
    schema = json::object{{"type", "object"}, {"properties", {{"a", std::move(schema)}}}};
  const json::object more{
      {"tools", {{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", schema}}}}}}};
  const json::object question = message("user", "a");
  json::array messages{question};
  rig.models.answer_all([](const TurnQuestion& asked) { return testing::make_answer(asked, "b"); });
  for (int turn = 0; turn < 2; ++turn) {
    messages.push_back(message_of(rig.begin(id, messages, {}, more).get()));
    messages.push_back(question);
  }
  EXPECT_EQ(records_of(rig, id), 2U);
  EXPECT_GT(rig.samples(id).size(), 0U);
}

// Turns, deletions and readers side by side: nothing hangs, and what stays adds up.
TEST(SessionService, TurnsRaceWithDeletes) {
  SessionRig rig;
  rig.models.answer_all([](const TurnQuestion& question) -> TurnOutcome {
    return testing::make_answer(question, "answer");
  });
  for (int round = 0; round < 10; ++round) {
    const std::string id = rig.create();
    std::atomic<int> answered = 0;
    std::atomic<int> gone = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
          for (int turn = 0; turn < 5; ++turn) {
            const TurnEnd end = rig.begin(id, {message("user", "a")}).get();
            if (std::holds_alternative<TurnResult>(end)) {
              ++answered;
            } else if (failure_of(end).status == 404) {
              ++gone;
            }
          }
        });
      }
      threads.emplace_back([&] { (void)rig.service.samples(everybody(), id, ""); });
      threads.emplace_back([&] { (void)rig.service.remove(everybody(), id); });
    }
    EXPECT_EQ(answered + gone, 15);
  }
  EXPECT_EQ(rig.service.counts().sessions, 0);
  EXPECT_EQ(rig.service.counts().bytes, 0);
  EXPECT_EQ(rig.service.counts().in_flight, 0);
}

}  // namespace
}  // namespace windrow::session
