#include "engine/generate/answer_row.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/structure/structure.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/recording_listener.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;
using testing::RecordingListener;

class AnswerRowTest : public ::testing::Test {
 protected:
  // The answer is fed byte by byte; returns how it ended.
  std::optional<llm::FinishReason> feed(AnswerRow& row, std::string_view text) const {
    for (const char byte : text) {
      const AnswerRow::Appended appended = row.append(static_cast<unsigned char>(byte));
      row.emit();
      if (appended.ended) return appended.ended;
    }
    return std::nullopt;
  }

  std::shared_ptr<const AnswerForm> form(std::string_view regex) const {
    auto structure =
        make_structure({.kind = llm::StructureSpec::Kind::kRegex, .text = std::string(regex)},
                       make_tables(vocabulary_, {}, {}), {});
    return std::make_shared<const AnswerForm>(AnswerForm{.grammar = (*structure)->grammar});
  }

  ByteVocabulary vocabulary_;
};

TEST_F(AnswerRowTest, IsItsTextUpToTheStopText) {
  AnswerRow row({.prompt = {1, 2, 3}, .output_tokens_max = 20, .stop = {"ab"}}, vocabulary_);
  EXPECT_FALSE(row.begin().ended);
  EXPECT_EQ(feed(row, "xaab"), llm::FinishReason::kStop);
  const llm::Answer answer = row.finish(llm::FinishReason::kStop, {.queue_ms = 7}, 2);
  EXPECT_EQ(answer.choices[0].text, "xa");
  EXPECT_EQ(answer.choices[0].stopped_by, "ab");
  EXPECT_EQ(answer.usage.prompt_tokens, 3);
  EXPECT_EQ(answer.usage.completion_tokens, 4);
  EXPECT_EQ(answer.usage.cached_tokens, 2);
  EXPECT_EQ(answer.timings.queue_ms, 7);
}

TEST_F(AnswerRowTest, EndsAtItsLimitAndByTheModelsToken) {
  AnswerRow cut({.prompt = {1}, .output_tokens_max = 2}, vocabulary_);
  cut.begin();
  EXPECT_EQ(feed(cut, "\xC3\xA4 more"), llm::FinishReason::kLength);
  EXPECT_EQ(cut.finish(llm::FinishReason::kLength, {}, 0).choices[0].text, "\xC3\xA4");

  AnswerRow over({.prompt = {1}, .output_tokens_max = 2}, vocabulary_);
  over.begin();
  EXPECT_EQ(over.append(ByteVocabulary::kEnd).ended, llm::FinishReason::kStop);

  AnswerRow goes_on({.prompt = {1}, .output_tokens_max = 2, .ignore_eos = true}, vocabulary_);
  goes_on.begin();
  EXPECT_FALSE(goes_on.append(ByteVocabulary::kEnd).ended);

  AnswerRow none({.prompt = {1}, .output_tokens_max = 0}, vocabulary_);
  EXPECT_EQ(none.begin().ended, llm::FinishReason::kLength);
}

TEST_F(AnswerRowTest, ItsStreamJoinedIsItsAnswer) {
  const auto listener = std::make_shared<RecordingListener>();
  AnswerRow row({.prompt = {1}, .output_tokens_max = 40, .stop = {"zz"}, .listener = listener},
                vocabulary_);
  row.begin();
  EXPECT_FALSE(feed(row, "a z \xE2\x82\xAC"));
  EXPECT_EQ(listener->text(), "a z \xE2\x82\xAC");
  EXPECT_EQ(feed(row, " zz"), llm::FinishReason::kStop);
  listener->expect_emitted(row.finish(llm::FinishReason::kStop, {}, 0));
}

TEST_F(AnswerRowTest, NothingIsStreamedOnceItsGroupIsAbandoned) {
  const auto listener = std::make_shared<RecordingListener>();
  const auto group = std::make_shared<RowGroup>();
  AnswerRow row({.prompt = {1}, .output_tokens_max = 40, .group = group, .listener = listener},
                vocabulary_);
  row.begin();
  feed(row, "ab");
  group->abandoned = true;
  feed(row, "cd");
  row.finish(llm::FinishReason::kStop, {}, 0);
  EXPECT_EQ(listener->text(), "ab");
}

TEST_F(AnswerRowTest, WhatItsFormForcesIsAppendedWithoutTheModel) {
  AnswerRow row({.prompt = {1}, .output_tokens_max = 40, .form = form("yes, (a|b) indeed")},
                vocabulary_);
  const AnswerRow::Appended first = row.begin();
  EXPECT_FALSE(first.ended);
  EXPECT_EQ(first.tokens, 5);
  EXPECT_EQ(first.forced, 5);
  const AnswerRow::Appended rest = row.append('b');
  EXPECT_EQ(rest.ended, llm::FinishReason::kStop);
  EXPECT_EQ(rest.tokens, 8);
  EXPECT_EQ(rest.forced, 7);
  const llm::Answer answer = row.finish(llm::FinishReason::kStop, {}, 0);
  EXPECT_EQ(answer.choices[0].text, "yes, b indeed");
  EXPECT_EQ(answer.choices[0].structure, llm::StructureLabel::kValid);
  EXPECT_FALSE(answer.truncated);
}

TEST_F(AnswerRowTest, ScoresOfAPromptComeFromOtherRowsToo) {
  AnswerRow row(
      {.prompt = {'a', 'b', 'c'}, .output_tokens_max = 0, .logprobs_top = 1, .score_prompt = true},
      vocabulary_);
  row.begin();
  EXPECT_TRUE(row.kept_score(0).has_value()) << "the first token, whose score means nothing";
  EXPECT_FALSE(row.kept_score(1).has_value());
  const KeptScore score{.next = 'b',
                        .logprob = -1,
                        .top_asked = 2,
                        .top = {{.token = 'x', .logprob = -0.5F}, {.token = 'b', .logprob = -1}}};
  row.add_kept_scores(std::vector{score});
  ASSERT_TRUE(row.kept_score(1).has_value());
  EXPECT_EQ(row.kept_score(1)->next, 'b');
  EXPECT_EQ(row.kept_score(1)->top.size(), 1U) << "no more alternatives than it asks for";
  EXPECT_EQ(row.kept_score(1)->top_asked, 1);
}

TEST_F(AnswerRowTest, TheIdsOfCallsFollowFromTheirSeed) {
  const auto tools = std::make_shared<const chat::ToolContext>(chat::ToolContext{
      .syntax = chat::generic_tool_syntax(),
      .tools = chat::ToolTable(
          boost::json::parse(R"([{"type": "function", "function": {"name": "now"}}])")
              .as_array())});
  const auto id_of_call = [&](uint64_t call_seed) {
    const auto listener = std::make_shared<RecordingListener>();
    AnswerRow row({.prompt = {1, 2},
                   .output_tokens_max = 80,
                   .reasoning = std::make_shared<const chat::ReasoningContext>(),
                   .tools = tools,
                   .call_seed = call_seed,
                   .listener = listener},
                  vocabulary_);
    row.begin();
    feed(row, R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)");
    const llm::Answer answer = row.finish(llm::FinishReason::kStop, {}, 0);
    listener->expect_emitted(answer);
    return answer.choices.at(0).tool_calls.at(0).id;
  };
  EXPECT_EQ(id_of_call(7), id_of_call(7));
  EXPECT_NE(id_of_call(7), id_of_call(8));
}

TEST_F(AnswerRowTest, HasNoRoomOnceItsShareIsRefused) {
  const auto share = std::make_shared<llm::AnswerShare>(std::make_shared<llm::AnswerRoom>(1));
  AnswerRow row({.prompt = {'a', 'b', 'c'},
                 .output_tokens_max = 0,
                 .logprobs_top = 0,
                 .score_prompt = true,
                 .answer_share = share},
                vocabulary_);
  row.begin();
  row.add_kept_scores(std::vector<KeptScore>(2, {.next = 'b', .logprob = -1}));
  EXPECT_FALSE(row.kept_score(2).has_value()) << "it stops at the first without room";
  EXPECT_FALSE(row.grow(0));
}

}  // namespace
}  // namespace windrow::engine
