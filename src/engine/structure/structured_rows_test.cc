// Rows whose answers have a structure, through the whole StepLoop, against the plainest loop there
// can be: one row at a time, every token tried, nothing forced.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <variant>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "base/utf8.h"
#include "engine/generate/step_loop.h"
#include "engine/sampling/sampler.h"
#include "engine/structure/structure.h"
#include "engine/testing/recording_listener.h"
#include "engine/testing/scripted_runner.h"
#include "engine/testing/word_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::RecordingListener;
using testing::scripted_logits;
using testing::ScriptedRunner;
using testing::WordVocabulary;
using windrow::testing::ManualClock;
using Kind = llm::StructureSpec::Kind;

const std::vector<std::string> kWords = {
    "{\"",  "\":",   "\":\"", "\",\"", "\"}", "name",   "na",  "me",  "age", "yes", "no",
    "true", "false", "10",    "20",    "},{", "[{\"",   "}]",  "ab",  "bc",  "abc", "the",
    "an",   "in",    "on",    "at",    "}\n", "e}\n\n", "c\n", "0\n", ")\n"};

const std::vector<llm::StructureSpec>& specs() {
  static const std::vector<llm::StructureSpec> kSpecs = {
      {.kind = Kind::kChoice, .choices = {"yes", "no", "none of them", "nothing"}},
      {.kind = Kind::kRegex, .text = "[a-c]{3,9}(-[0-9]{2}){1,3}"},
      {.kind = Kind::kRegex, .text = "(abc|an|in){2,6}"},
      {.kind = Kind::kGrammar,
       .text = "root ::= \"(\" root \")\" | [a-z]{1,3} | \"[\" root \",\" root \"]\""},
      {.kind = Kind::kJsonSchema,
       .text = R"({"type":"object","properties":{"name":{"type":"string","maxLength":6},)"
               R"("age":{"enum":[10,20,100]},"ok":{"type":"boolean"}},)"
               R"("required":["name","age","ok"],"additionalProperties":false})"},
      {.kind = Kind::kJsonSchema,
       .text = R"({"type":"array","minItems":1,"maxItems":3,"items":{"type":"object",)"
               R"("properties":{"name":{"const":"abc"},"age":{"type":"integer","minimum":-5,)"
               R"("maximum":300}},"required":["name"],"additionalProperties":false}})"},
  };
  return kSpecs;
}

class StructuredRowsTest : public ::testing::Test {
 protected:
  StructuredRowsTest() : tables_(make_tables(vocabulary_, {}, {})) {
    for (const llm::StructureSpec& spec : specs()) {
      auto made = make_structure(spec, tables_, {});
      if (!made) ADD_FAILURE() << made.error().message;
      structures_.push_back(*made);
    }
  }

  std::shared_ptr<const AnswerForm> form(size_t spec, bool force) const {
    return std::make_shared<const AnswerForm>(
        AnswerForm{.grammar = structures_[spec]->grammar, .force = force});
  }

  EngineRequest request(std::vector<Token> prompt, int32_t output_tokens_max,
                        std::shared_ptr<const AnswerForm> form) const {
    return EngineRequest{.prompt = std::move(prompt),
                         .output_tokens_max = output_tokens_max,
                         .sampling = {.temperature = 0},
                         .logprobs_top = 0,
                         .form = std::move(form),
                         .submitted_at = clock_.now()};
  }

  void add(StepLoop& loop, int name, EngineRequest request) {
    std::shared_ptr<RecordingListener> listener;
    if (listens_) request.listener = listener = std::make_shared<RecordingListener>();
    request.done = [this, name, listener](llm::Outcome outcome) {
      if (listener) listener->expect_emitted(outcome);
      EXPECT_TRUE(outcomes_.emplace(name, std::move(outcome)).second) << "answered twice";
    };
    loop.add(std::move(request));
  }

  static void run_all(StepLoop& loop) {
    int steps = 0;
    while (loop.step())
      ASSERT_LT(++steps, 200'000);
  }

  const llm::Answer& answer(int name) {
    if (const auto* failure = std::get_if<llm::Failure>(&outcomes_.at(name)))
      ADD_FAILURE() << name << ": " << failure->message;
    return std::get<llm::Answer>(outcomes_.at(name));
  }

  // Tokens are tried one by one on a matcher of their own.
  llm::Choice plain_answer(const EngineRequest& request) const {
    grammar::Matcher matcher(request.form->grammar);
    std::vector<Token> tokens = request.prompt;
    llm::Choice choice{.finish_reason = llm::FinishReason::kLength};
    choice.structure = llm::StructureLabel::kTruncated;
    for (int32_t i = 0; i < request.output_tokens_max; ++i) {
      grammar::TokenMask mask(vocabulary_.size());
      for (Token token = 0; token < vocabulary_.size(); ++token) {
        grammar::Matcher ahead = matcher;
        if (ahead.accept(token)) mask.allow(token);
      }
      const std::vector<float> logits = scripted_logits(tokens, vocabulary_.size());
      const std::span<const Token> known = tokens;
      const Token token =
          Sampler()
              .sample(logits, request.sampling,
                      {known.first(request.prompt.size()), known.subspan(request.prompt.size())},
                      mask.words())
              .value();
      tokens.push_back(token);
      if (token == WordVocabulary::kEnd) {
        choice.finish_reason = llm::FinishReason::kStop;
        choice.structure = llm::StructureLabel::kValid;
        break;
      }
      vocabulary_.append_bytes(token, choice.text);
      EXPECT_TRUE(matcher.accept(token));
      choice.text.resize(choice.text.size() - matcher.bytes_behind_end());
      size_t stop = std::string::npos;
      for (const std::string& one : request.stop)
        stop = std::min(stop, choice.text.find(one));
      if (stop != std::string::npos) {
        choice.text.resize(stop);
        choice.finish_reason = llm::FinishReason::kStop;
        break;
      }
      if (matcher.must_end()) {
        choice.finish_reason = llm::FinishReason::kStop;
        choice.structure = llm::StructureLabel::kValid;
        break;
      }
    }
    choice.text = utf8_repair(choice.text);
    return choice;
  }

  // A text may be cut within a character.
  static bool is_cut(const std::string& text) {
    return text.find("\xEF\xBF\xBD") != std::string::npos;
  }

  // The tokens of the choice make up its text, and each has the model's own log-probability.
  void expect_scores(const EngineRequest& request, const llm::Choice& choice) {
    std::vector<Token> tokens = request.prompt;
    std::string text;
    for (const llm::ScoredToken& one : choice.tokens) {
      const std::vector<float> logits = scripted_logits(tokens, vocabulary_.size());
      double sum = 0;
      for (const float logit : logits)
        sum += std::exp(static_cast<double>(logit));
      const double logprob =
          static_cast<double>(logits[static_cast<size_t>(one.chosen.token)]) - std::log(sum);
      EXPECT_NEAR(one.chosen.logprob, logprob, 1e-4);
      tokens.push_back(one.chosen.token);
      if (one.chosen.token != WordVocabulary::kEnd)
        vocabulary_.append_bytes(one.chosen.token, text);
    }
    EXPECT_TRUE(is_cut(choice.text) || text.starts_with(choice.text))
        << text << " and " << choice.text;
    // Of a token that ended the structure and went on with line breaks, these are not said.
    const bool ended = choice.structure == llm::StructureLabel::kValid && request.stop.empty();
    if (!ended || text == choice.text) return;
    EXPECT_EQ(text.find_first_not_of("\r\n", choice.text.size()), std::string::npos) << text;
    ++with_breaks_behind_;
  }

  ManualClock clock_;
  WordVocabulary vocabulary_{kWords};
  VocabularyTables tables_;
  std::vector<std::shared_ptr<const Structure>> structures_;
  std::map<int, llm::Outcome> outcomes_;
  bool listens_ = false;  // to the rows that are added
  int with_breaks_behind_ = 0;
};

// Whatever happens around a row, and however late its masks are: without forced runs it has the
// tokens of the plain loop, and with them an answer of its structure.
TEST_F(StructuredRowsTest, NothingThatHappensAroundARowChangesItsAnswer) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    outcomes_.clear();
    const auto rows_max = static_cast<int32_t>(random.between(1, 6));
    const auto cells = static_cast<int32_t>(random.between(60, 200));
    const Sharing sharing = std::array{Sharing::kNothing, Sharing::kExactEnd,
                                       Sharing::kAnyRange}[static_cast<size_t>(random.below(3))];
    const RunnerLimits limits{
        .cells_max = cells,
        .rows_max = rows_max,
        .sequences_max = rows_max + static_cast<int32_t>(random.below(3)),
        .step_tokens_max = static_cast<int32_t>(random.between(rows_max, 48)),
        .step_outputs_max = static_cast<int32_t>(random.between(rows_max, 20)),
        .row_tokens_max = 60,
        .vocabulary_size = vocabulary_.size(),
        .sharing = sharing,
        .mixes = sharing != Sharing::kNothing || random.chance(0.5)};
    ScriptedRunner runner(limits);
    runner.fault = [&](std::span<const StepRow> step) -> std::optional<Error> {
      if (step.size() > 1 && random.chance(0.02)) return Error{ErrorKind::kInvalid, "by chance"};
      if (step.size() > 1 && random.chance(0.02)) return Error{ErrorKind::kNoSpace, "by chance"};
      return std::nullopt;
    };
    // Masks that take many slices, of which a step waits for one or for all.
    const MaskFilling filling{.threads = static_cast<int32_t>(random.below(3)),
                              .nodes_a_slice = static_cast<size_t>(random.between(1, 60)),
                              .slices_a_step = random.chance(0.5) ? 1 : 1000};
    StepLoop loop(
        runner, vocabulary_, clock_,
        {.step_target = std::chrono::milliseconds(random.between(1, 2000)),
         .lone_step_target = std::chrono::milliseconds(random.between(1, 2000)),
         .sampling_threads = {.count = static_cast<int32_t>(random.between(1, 3)), .logits_min = 0},
         .mask_filling = filling});
    std::map<int, EngineRequest> asked;
    for (int name = 0; name < 14; ++name) {
      std::vector<Token> prompt(static_cast<size_t>(random.between(1, 20)));
      for (Token& token : prompt)
        token = static_cast<Token>(random.below(3));
      const auto room = 60 - static_cast<int64_t>(prompt.size());
      const auto spec = static_cast<size_t>(random.below(specs().size()));
      EngineRequest row = request(std::move(prompt), static_cast<int32_t>(random.between(1, room)),
                                  random.chance(0.9) ? form(spec, random.chance(0.5)) : nullptr);
      row.sampling = {.temperature = random.chance(0.4) ? 0.0F : 1.0F,
                      .top_k = static_cast<int32_t>(random.below(20)),
                      .frequency_penalty = random.chance(0.3) ? 1.5F : 0.0F,
                      .seed = random.next()};
      if (random.chance(0.5)) row.logprobs_top = std::nullopt;
      row.score_prompt = row.logprobs_top && random.chance(0.3);
      if (random.chance(0.2)) row.stop = {std::string(1, static_cast<char>('a' + random.below(3)))};
      asked.emplace(name, row);
      listens_ = random.chance(0.5);
      add(loop, name, std::move(row));
      for (int64_t steps = random.between(0, 6); steps > 0; --steps)
        loop.step();
    }
    run_all(loop);
    ASSERT_EQ(outcomes_.size(), asked.size());
    for (const auto& [name, row] : asked) {
      SCOPED_TRACE(::testing::Message() << "row " << name);
      const llm::Answer& whole = answer(name);
      llm::Choice choice = whole.choices.at(0);
      if (!row.form) {
        EXPECT_FALSE(choice.structure);
        continue;
      }
      if (!row.form->force) {
        const llm::Choice plain = plain_answer(row);
        EXPECT_EQ(choice.text, plain.text);
        EXPECT_EQ(choice.finish_reason, plain.finish_reason);
        EXPECT_EQ(choice.structure, plain.structure);
      }
      EXPECT_EQ(whole.truncated, choice.structure == llm::StructureLabel::kTruncated);
      grammar::Matcher matcher(row.form->grammar);
      EXPECT_TRUE(is_cut(choice.text) || matcher.accept_bytes(choice.text)) << choice.text;
      if (choice.structure == llm::StructureLabel::kValid) {
        EXPECT_TRUE(matcher.can_end()) << choice.text;
      }
      if (!row.logprobs_top) continue;
      if (row.score_prompt) {
        choice.tokens.erase(choice.tokens.begin(),
                            choice.tokens.begin() + static_cast<ptrdiff_t>(row.prompt.size()));
      }
      EXPECT_EQ(static_cast<int32_t>(choice.tokens.size()), whole.usage.completion_tokens);
      expect_scores(row, choice);
    }
    EXPECT_EQ(loop.stats().rows_running + loop.stats().rows_waiting, 0);
    if (HasFailure()) return;
  }
  EXPECT_GT(with_breaks_behind_, 10);
}

constexpr RunnerLimits kLimits{.cells_max = 400,
                               .rows_max = 4,
                               .sequences_max = 4,
                               .step_tokens_max = 64,
                               .step_outputs_max = 4,
                               .row_tokens_max = 100,
                               .vocabulary_size = 257 + 31};

TEST_F(StructuredRowsTest, WhatLeavesNoChoiceTakesNoSteps) {
  ASSERT_EQ(kLimits.vocabulary_size, vocabulary_.size());
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  const llm::StructureSpec one{
      .kind = Kind::kJsonSchema,
      .text = R"({"type":"object","properties":{"name":{"const":"yes"},"age":{"enum":[1,2]}},)"
              R"("required":["name","age"],"additionalProperties":false})"};
  const auto structure = make_structure(one, tables_, {});
  ASSERT_TRUE(structure) << structure.error().message;
  const auto form =
      std::make_shared<const AnswerForm>(AnswerForm{.grammar = (*structure)->grammar});
  EngineRequest row = request({1, 2, 3}, 50, form);
  row.logprobs_top = std::nullopt;
  add(loop, 1, std::move(row));
  run_all(loop);
  const std::string text = answer(1).choices[0].text;
  EXPECT_TRUE(text == R"({"name":"yes","age":1})" || text == R"({"name":"yes","age":2})") << text;
  EXPECT_EQ(loop.stats().steps, 1) << "one choice is left, and the rest follows from it";
  EXPECT_EQ(loop.stats().generated_tokens, answer(1).usage.completion_tokens);
  EXPECT_EQ(loop.stats().forced_tokens, answer(1).usage.completion_tokens - 1);

  // Scores are asked of the model all the same.
  add(loop, 2, request({1, 2, 3}, 50, form));
  run_all(loop);
  EXPECT_EQ(answer(2).choices[0].text, text);
  EXPECT_EQ(static_cast<int32_t>(answer(2).choices[0].tokens.size()),
            answer(2).usage.completion_tokens);
  expect_scores(request({1, 2, 3}, 50, form), answer(2).choices[0]);
}

TEST_F(StructuredRowsTest, ATextWithoutAnyChoiceNeedsNoModel) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  const auto structure =
      make_structure({.kind = Kind::kChoice, .choices = {"abc on"}}, tables_, {});
  const auto form =
      std::make_shared<const AnswerForm>(AnswerForm{.grammar = (*structure)->grammar});
  EngineRequest row = request({1}, 50, form);
  row.logprobs_top = std::nullopt;
  add(loop, 1, std::move(row));
  EXPECT_EQ(answer(1).choices[0].text, "abc on");
  EXPECT_EQ(answer(1).choices[0].finish_reason, llm::FinishReason::kStop);
  EXPECT_FALSE(loop.step());
  EngineRequest cut = request({1}, 2, form);
  add(loop, 2, std::move(cut));
  run_all(loop);
  EXPECT_EQ(answer(2).choices[0].text, "abc ");
  EXPECT_EQ(answer(2).choices[0].finish_reason, llm::FinishReason::kLength);
  EXPECT_EQ(answer(2).choices[0].structure, llm::StructureLabel::kTruncated);
  EXPECT_EQ(answer(2).choices[0].tokens.size(), 2U);
}

TEST_F(StructuredRowsTest, RowsThatSitOutMayBeCancelled) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_,
                {.mask_filling = {.threads = 0, .nodes_a_slice = 1, .slices_a_step = 1}});
  add(loop, 1, request({1, 2, 3}, 50, form(3, false)));
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(loop.step());
  EXPECT_TRUE(outcomes_.empty());
  loop.cancel_all();
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(std::get<llm::Failure>(outcomes_.at(1)).failure_class, llm::FailureClass::kCancelled);
  EXPECT_FALSE(loop.step());
}

TEST_F(StructuredRowsTest, OneSlowMaskDoesNotHoldTheOthers) {
  ScriptedRunner runner(kLimits);
  // Steps of rows without a structure go on while the other's mask is looked for node by node.
  StepLoop loop(runner, vocabulary_, clock_,
                {.mask_filling = {.threads = 0, .nodes_a_slice = 1, .slices_a_step = 1}});
  add(loop, 1, request({1, 2, 3}, 2, form(3, false)));
  EngineRequest free = request({4}, 12, nullptr);
  free.ignore_eos = true;
  add(loop, 2, std::move(free));
  for (int step = 0; step < 12; ++step)
    ASSERT_TRUE(loop.step());
  EXPECT_TRUE(outcomes_.contains(2));
  EXPECT_FALSE(outcomes_.contains(1));
  run_all(loop);
  EXPECT_EQ(answer(1).choices[0].text, plain_answer(request({1, 2, 3}, 2, form(3, false))).text);
}

}  // namespace
}  // namespace windrow::engine
