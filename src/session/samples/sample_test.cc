#include "session/samples/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "llm/testing/chatml_tokenizer.h"
#include "session/testing/turn_builder.h"

namespace windrow::session {
namespace {

using llm::testing::ChatmlTokenizer;
using ::testing::ElementsAre;
using testing::rows_from;
using testing::TurnBuilder;

constexpr RowKind kExperts = RowKind::kRoutedExperts;
constexpr size_t kExpertsIndex = static_cast<size_t>(kExperts);

Samples samples_of(std::vector<TurnPath> paths, SampleRules rules = {}) {
  auto result = assemble(paths, rules, ChatmlTokenizer());
  if (const auto* failure = std::get_if<llm::Failure>(&result)) {
    ADD_FAILURE() << failure->message;
    return {};
  }
  return std::get<Samples>(std::move(result));
}

llm::Failure failure_of(std::vector<TurnPath> paths, SampleRules rules = {}) {
  auto result = assemble(paths, rules, ChatmlTokenizer());
  if (!std::holds_alternative<llm::Failure>(result)) {
    ADD_FAILURE() << "samples were made";
    return {};
  }
  return std::get<llm::Failure>(std::move(result));
}

std::vector<int32_t> tokens_of(const Sample& sample) {
  std::vector<int32_t> tokens;
  sample.path.append_tokens(0, sample.tokens, tokens);
  return tokens;
}

std::vector<int> mask_of(const Sample& sample) {
  std::string bytes;
  sample.append_mask(0, sample.response_length(), bytes);
  return {bytes.begin(), bytes.end()};
}

std::vector<double> logprobs_of(const Sample& sample) {
  std::vector<double> values;
  sample.append_logprobs(0, sample.response_length(), values);
  return values;
}

std::vector<int32_t> rows_of(const Sample& sample) {
  std::vector<int32_t> values(sample.rows() * sample.path.values_per_row(kExperts));
  sample.path.read_rows(kExperts, 0, sample.rows(), values);
  return values;
}

// Two turns: [1,2,3] -> [10,11], then [20,21] -> [30,31].
TurnBuilder first_turn() {
  return {.id = 1,
          .prompt = {1, 2, 3},
          .sampled = {10, 11},
          .logprobs = {-.125, -.25},
          .routed_experts = rows_from(0, 4, 6, 100),
          .figures = {.prompt_tokens = 3, .cached_tokens = 0, .weight_version = "w1"}};
}

TurnBuilder second_turn() {
  return {.id = 2,
          .parent = 1,
          .kept = 5,
          .prompt = {20, 21},
          .sampled = {30, 31},
          .logprobs = {-.5, -1},
          .routed_experts = rows_from(4, 4, 6, 124),
          .figures = {.prompt_tokens = 7, .cached_tokens = 5, .weight_version = "w2"}};
}

TurnPath two_turns() {
  return TurnPath({first_turn().build(), second_turn().build()});
}

TEST(Sample, AConversationIsOneSampleOfAllItsTurns) {
  const Samples samples = samples_of({two_turns()});
  EXPECT_EQ(samples.empty, std::nullopt);
  ASSERT_EQ(samples.samples.size(), 1U);
  const Sample& sample = samples.samples[0];
  EXPECT_THAT(tokens_of(sample), ElementsAre(1, 2, 3, 10, 11, 20, 21, 30, 31));
  EXPECT_EQ(sample.response, "\n\x0b\x14\x15\x1e\x1f");
  EXPECT_EQ(sample.response_length(), 6U);
  EXPECT_THAT(mask_of(sample), ElementsAre(1, 1, 0, 0, 1, 1));
  EXPECT_THAT(logprobs_of(sample), ElementsAre(-.125, -.25, 0, 0, -.5, -1));
  EXPECT_EQ(sample.status, SampleStatus::kCompleted);
  EXPECT_THAT(sample.weight_versions, ElementsAre("w1", "w2"));
  EXPECT_EQ(sample.cached_tokens, 5);
  EXPECT_EQ(sample.prompt_tokens, 10);
  EXPECT_TRUE(sample.has_rows[kExpertsIndex]);
  EXPECT_FALSE(sample.has_rows[static_cast<size_t>(RowKind::kIndexerTopk)]);
  std::vector<int32_t> rows(48);
  std::iota(rows.begin(), rows.end(), 100);
  EXPECT_EQ(rows_of(sample), rows);
  EXPECT_EQ(boost::json::value(sample.metadata), boost::json::parse(R"({"lifecycle":[
      {"t0":null,"t1":0.0,"turn":1},{"t0":null,"t1":0.0,"turn":2,"prev_t1":0.0}]})"));
}

TEST(Sample, TheLifeOfATurnIsToldInTheOrderOfTheReferenceServer) {
  TurnBuilder first = first_turn();
  first.figures.latency_s = 0.5;
  first.asked_at_unix_s = 9;
  first.answered_at_unix_s = 10;
  const Samples samples = samples_of({TurnPath({first.build()})});
  EXPECT_EQ(boost::json::serialize(samples.samples[0].metadata),
            boost::json::serialize(
                boost::json::parse(R"({"lifecycle":{"t0":9.5,"t1":10.0,"turn":1,"req_ts":9.0}})")));
}

TEST(Sample, ALongConversationIsCutInTheTurnThatOverflows) {
  const Samples samples = samples_of({two_turns()}, {.tokens_max = 8});
  const Sample& sample = samples.samples.at(0);
  EXPECT_EQ(sample.tokens, 8U);
  EXPECT_THAT(mask_of(sample), ElementsAre(1, 1, 0, 0, 1));
  EXPECT_THAT(logprobs_of(sample), ElementsAre(-.125, -.25, 0, 0, -.5));
  EXPECT_EQ(sample.status, SampleStatus::kTruncated);
  EXPECT_EQ(sample.response, "\n\x0b\x14\x15\x1e");
  EXPECT_EQ(rows_of(sample).size(), 7U * 6);
  EXPECT_EQ(sample.metadata.at("lifecycle").as_array().size(), 2U);
}

TEST(Sample, ATurnWhosePromptOverflowsIsLeftOut) {
  for (const size_t tokens_max : {5U, 6U, 7U}) {
    const Samples samples = samples_of({two_turns()}, {.tokens_max = tokens_max});
    const Sample& sample = samples.samples.at(0);
    EXPECT_THAT(tokens_of(sample), ElementsAre(1, 2, 3, 10, 11));
    EXPECT_EQ(rows_of(sample).size(), 4U * 6);
    EXPECT_EQ(sample.status, SampleStatus::kCompleted);
    EXPECT_TRUE(sample.metadata.at("lifecycle").is_object());
    EXPECT_THAT(sample.weight_versions, ElementsAre("w1"));
  }
}

TEST(Sample, WithoutSamplesThereIsAReason) {
  EXPECT_EQ(samples_of({}).empty, EmptyReason::kNoRecords);
  EXPECT_EQ(samples_of({TurnPath()}).empty, EmptyReason::kNoRecords);
  EXPECT_EQ(samples_of({two_turns()}, {.tokens_max = 2}).empty, EmptyReason::kAllTruncated);
  EXPECT_EQ(samples_of({two_turns()}, {.tokens_max = 3}).empty, EmptyReason::kAllTruncated);
  EXPECT_EQ(to_string(EmptyReason::kNoRecords), "no_records");
  EXPECT_EQ(to_string(EmptyReason::kAllTruncated), "all_truncated");
}

TEST(Sample, AConversationEndsAtTheFirstTurnThatDidNotComplete) {
  struct Case {
    const char* finish_reason;
    SampleStatus status;
    const char* name;
  };
  for (const Case& at : {Case{"length", SampleStatus::kTruncated, "truncated"},
                         Case{"abort", SampleStatus::kAborted, "aborted"},
                         Case{"something", SampleStatus::kPending, "pending"}}) {
    TurnBuilder first = first_turn();
    first.finish_reason = at.finish_reason;
    const Sample sample =
        samples_of({TurnPath({first.build(), second_turn().build()})}).samples.at(0);
    EXPECT_EQ(sample.tokens, 5U);
    EXPECT_EQ(sample.status, at.status);
    EXPECT_EQ(to_string(sample.status), at.name);
    EXPECT_TRUE(sample.metadata.at("lifecycle").is_object());
  }
  TurnBuilder calls = first_turn();
  calls.finish_reason = "tool_calls";
  EXPECT_EQ(samples_of({TurnPath({calls.build(), second_turn().build()})}).samples.at(0).tokens,
            9U);
}

TEST(Sample, AConversationEndsBeforeATurnThatLacksRows) {
  TurnBuilder second = second_turn();
  second.routed_experts = nullptr;
  Sample sample = samples_of({TurnPath({first_turn().build(), second.build()})}).samples.at(0);
  EXPECT_EQ(sample.tokens, 5U);
  EXPECT_EQ(sample.status, SampleStatus::kCompleted);

  // The other way round it goes on: the later turn has the rows of both.
  TurnBuilder first = first_turn();
  first.routed_experts = nullptr;
  second.routed_experts = rows_from(0, 8, 6, 0);
  sample = samples_of({TurnPath({first.build(), second.build()})}).samples.at(0);
  EXPECT_EQ(sample.tokens, 9U);
  EXPECT_EQ(rows_of(sample).back(), 47);
}

TEST(Sample, AnEndTokenThatTheNextTurnDropsIsTrimmed) {
  const TurnBuilder first{.id = 1, .prompt = {1, 2, 3}, .sampled = {10, 99}};
  const TurnBuilder second{
      .id = 2, .parent = 1, .kept = 4, .prompt = {4, 5, 6}, .sampled = {20, 99}};
  const TurnBuilder third{
      .id = 3, .parent = 2, .kept = 8, .prompt = {7, 8, 9}, .sampled = {30, 99}};
  const TurnPath path({first.build(), second.build(), third.build()});

  const Sample whole = samples_of({path}).samples.at(0);
  EXPECT_THAT(tokens_of(whole), ElementsAre(1, 2, 3, 10, 4, 5, 6, 20, 7, 8, 9, 30, 99));
  EXPECT_THAT(mask_of(whole), ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1, 1));
  EXPECT_THAT(logprobs_of(whole), ElementsAre(-1, 0, 0, 0, -1, 0, 0, 0, -1, -2));
  EXPECT_EQ(whole.response,
            "\n\x04\x05\x06\x14\x07\x08\x09\x1e"
            "c");

  const std::vector<Sample> apart = samples_of({path}, {.turns_apart = true}).samples;
  ASSERT_EQ(apart.size(), 3U);
  EXPECT_THAT(tokens_of(apart[0]), ElementsAre(1, 2, 3, 10));
  EXPECT_THAT(mask_of(apart[0]), ElementsAre(1));
  EXPECT_THAT(tokens_of(apart[1]), ElementsAre(1, 2, 3, 10, 4, 5, 6, 20));
  EXPECT_THAT(logprobs_of(apart[1]), ElementsAre(-1));
  EXPECT_EQ(apart[2].tokens, 13U);
  EXPECT_THAT(logprobs_of(apart[2]), ElementsAre(-1, -2));
}

TEST(Sample, AnEndTokenThatTheNextTurnWritesAgainCountsAsSampled) {
  const TurnBuilder first{.id = 1, .prompt = {1, 2}, .sampled = {10, 99}};
  const TurnBuilder second{.id = 2, .parent = 1, .kept = 3, .prompt = {99, 5}, .sampled = {20}};
  const Sample sample = samples_of({TurnPath({first.build(), second.build()})}).samples.at(0);
  EXPECT_THAT(tokens_of(sample), ElementsAre(1, 2, 10, 99, 5, 20));
  EXPECT_THAT(mask_of(sample), ElementsAre(1, 1, 0, 1));
  EXPECT_EQ(sample.response, "\nc\x05\x14");
}

TEST(Sample, MoreThanAnEndTokenMustNotBeLost) {
  const TurnBuilder first{.id = 1, .prompt = {1, 2}, .sampled = {10, 99, 99}};
  const TurnBuilder second{.id = 2, .parent = 1, .kept = 3, .prompt = {3, 4}, .sampled = {20}};
  const llm::Failure failure = failure_of({TurnPath({first.build(), second.build()})});
  EXPECT_EQ(failure.status, 422);
  EXPECT_EQ(failure.code, "cannot_assemble");
  EXPECT_EQ(failure.message,
            "turn 1: trim_count 2 exceeds allowed=1 (is_last=False, max_trim_tokens=1); "
            "output_ids[-3:]=[10, 99, 99], accumulated[cursor:cursor+3]=[10, 3, 4]");
}

TEST(Sample, ATurnThatReplacesAPromptIsAFailure) {
  const TurnBuilder first{.id = 1, .prompt = {1, 2}, .sampled = {10}};
  const TurnBuilder second{.id = 2, .parent = 1, .kept = 1, .prompt = {3, 4}, .sampled = {20}};
  EXPECT_EQ(failure_of({TurnPath({first.build(), second.build()})}).message,
            "turn 1: the next turn keeps 1 of its 2 prompt tokens");
}

TEST(Sample, RowsThatDoNotCoverTheTokensAreAFailure) {
  TurnBuilder second = second_turn();
  second.routed_experts = rows_from(4, 3, 6, 0);
  EXPECT_EQ(failure_of({TurnPath({first_turn().build(), second.build()})}).message,
            "turn 2: routed_experts cover 7 of the 8 tokens that have a row; the rest were not in "
            "the replies of the model's server");
  second.routed_experts = rows_from(5, 3, 6, 0);
  EXPECT_EQ(failure_of({TurnPath({first_turn().build(), second.build()})}).message,
            "turn 2: routed_experts cover 4 of the 8 tokens that have a row; the rest were not in "
            "the replies of the model's server");
}

TEST(Sample, RowsOfAnotherWidthAreAFailure) {
  TurnBuilder second = second_turn();
  second.routed_experts = rows_from(4, 4, 8, 0);
  EXPECT_EQ(failure_of({TurnPath({first_turn().build(), second.build()})}).message,
            "turn 2: routed_experts have 8 numbers a token, and those of the turns before have 6");
}

TEST(Sample, MissingLogprobsAreAFailure) {
  TurnBuilder second = second_turn();
  second.logprobs = {-1};
  EXPECT_EQ(failure_of({TurnPath({first_turn().build(), second.build()})}).message,
            "turn 2: rollout_log_probs length (1) != response_length (2)");
}

TEST(Sample, TurnsApartAreSamplesWithTheirOwnRows) {
  TurnBuilder first = first_turn();
  first.finish_reason = "abort";
  const std::vector<Sample> samples =
      samples_of({TurnPath({first.build(), second_turn().build()})}, {.turns_apart = true}).samples;
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].status, SampleStatus::kAborted);
  EXPECT_EQ(samples[0].tokens, 5U);
  EXPECT_EQ(rows_of(samples[0]).size(), 4U * 6);
  EXPECT_EQ(samples[1].tokens, 9U);
  EXPECT_EQ(samples[1].response, "\x1e\x1f");
  EXPECT_THAT(mask_of(samples[1]), ElementsAre(1, 1));
  EXPECT_THAT(logprobs_of(samples[1]), ElementsAre(-.5, -1));
  EXPECT_THAT(samples[1].weight_versions, ElementsAre("w2"));
  EXPECT_EQ(samples[1].prompt_tokens, 7);
  EXPECT_EQ(rows_of(samples[1]).size(), 8U * 6);
  EXPECT_EQ(samples[1].metadata.at("lifecycle").as_object().at("turn"), 2);
}

TEST(Sample, ASharedAnswerIsTrainedOnInTheEarliestConversation) {
  const TurnPtr root = first_turn().build();
  TurnBuilder early = second_turn();
  TurnBuilder late = second_turn();
  late.id = 3;
  const std::vector<TurnPath> paths = {TurnPath({root, late.build()}),
                                       TurnPath({root, early.build()})};
  const std::vector<Sample> samples = samples_of(paths).samples;
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_THAT(mask_of(samples[0]), ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_THAT(mask_of(samples[1]), ElementsAre(1, 1, 0, 0, 1, 1));
  EXPECT_EQ(logprobs_of(samples[0]), logprobs_of(samples[1]));
  EXPECT_EQ(samples[0].conversation, 0U);
  EXPECT_EQ(samples[1].conversation, 1U);

  const std::vector<Sample> apart = samples_of(paths, {.turns_apart = true}).samples;
  ASSERT_EQ(apart.size(), 3U);
  EXPECT_EQ(apart[0].last().id, TurnId(3));
  EXPECT_EQ(apart[1].last().id, TurnId(1));
  EXPECT_EQ(apart[2].last().id, TurnId(2));
}

TEST(Sample, ATextCutWithinACharacterDoesNotChangeWhatFollows) {
  const TurnBuilder first{.id = 1, .prompt = {1}, .sampled = {0xC3}};
  const TurnBuilder second{.id = 2, .parent = 1, .kept = 2, .prompt = {0xA9}, .sampled = {'a'}};
  const Sample sample = samples_of({TurnPath({first.build(), second.build()})}).samples.at(0);
  EXPECT_EQ(sample.response, "\uFFFD\uFFFDa");
}

// Masks and log-probabilities are the same however they are cut into pieces, and those of a plain
// copy of every turn.
TEST(Sample, PiecesAreThoseOfTheWhole) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<TurnPtr> turns;
    std::vector<int32_t> tokens;
    std::vector<int> mask;
    std::vector<double> logprobs;
    const size_t count = 1 + random.below(6);
    for (size_t i = 0; i < count; ++i) {
      TurnBuilder turn{.id = i + 1, .parent = i};
      const bool trims = i > 0 && random.chance(0.3) && !turns.back()->sampled.empty();
      turn.kept = tokens.size() - (trims ? 1 : 0);
      tokens.resize(turn.kept);
      mask.resize(turn.kept);
      logprobs.resize(turn.kept);
      for (size_t n = 1 + random.below(3); n > 0; --n) {
        turn.prompt.push_back(1);
        tokens.push_back(1);
        mask.push_back(0);
        logprobs.push_back(0);
      }
      for (size_t n = random.below(4); n > 0; --n) {
        turn.sampled.push_back(2);
        turn.logprobs.push_back(-random.unit());
        tokens.push_back(2);
        mask.push_back(1);
        logprobs.push_back(turn.logprobs.back());
      }
      turns.push_back(turn.build());
    }
    const SampleRules rules{.tokens_max = turns[0]->prompt.size() + 1 + random.below(20)};
    const TurnPath path(turns);
    const Samples samples = samples_of({path}, rules);
    if (samples.empty) continue;
    const Sample& sample = samples.samples[0];
    EXPECT_LE(sample.tokens, *rules.tokens_max);
    tokens.resize(sample.tokens);
    EXPECT_EQ(tokens_of(sample), tokens);
    std::string mask_bytes;
    std::vector<double> values;
    for (size_t at = 0; at < sample.response_length();) {
      const size_t piece = std::min(1 + random.below(4), sample.response_length() - at);
      sample.append_mask(at, piece, mask_bytes);
      sample.append_logprobs(at, piece, values);
      at += piece;
    }
    const auto begin = static_cast<ptrdiff_t>(sample.response_begin);
    const auto end = static_cast<ptrdiff_t>(sample.tokens);
    EXPECT_EQ(std::vector<int>(mask_bytes.begin(), mask_bytes.end()),
              std::vector<int>(mask.begin() + begin, mask.begin() + end));
    EXPECT_EQ(values, std::vector<double>(logprobs.begin() + begin, logprobs.begin() + end));
  }
}

}  // namespace
}  // namespace windrow::session
