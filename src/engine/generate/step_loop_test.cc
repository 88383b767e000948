#include "engine/generate/step_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "base/testing/rounds.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/recording_listener.h"
#include "engine/testing/scripted_answer.h"
#include "engine/testing/scripted_runner.h"
#include "llm/answer_room.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;
using testing::RecordingListener;
using testing::scripted_answer;
using testing::ScriptedRunner;
using windrow::testing::ManualClock;

constexpr RunnerLimits kLimits{.cells_max = 300,
                               .rows_max = 4,
                               .sequences_max = 4,
                               .step_tokens_max = 64,
                               .step_outputs_max = 4,
                               .row_tokens_max = 200,
                               .vocabulary_size = ByteVocabulary::kSize};

class StepLoopTest : public ::testing::Test {
 protected:
  EngineRequest request(std::vector<Token> prompt, int32_t output_tokens_max) {
    return EngineRequest{.prompt = std::move(prompt),
                         .output_tokens_max = output_tokens_max,
                         .sampling = {.temperature = 0},
                         .logprobs_top = 0,
                         .submitted_at = clock_.now()};
  }

  // Adds a request whose outcome lands in outcomes_[name].
  void add(StepLoop& loop, int name, EngineRequest request) {
    std::shared_ptr<RecordingListener> listener;
    if (listens_) request.listener = listener = std::make_shared<RecordingListener>();
    request.done = [this, name, listener](llm::Outcome outcome) {
      if (listener) listener->expect_emitted(outcome);
      EXPECT_TRUE(outcomes_.emplace(name, std::move(outcome)).second) << "answered twice";
    };
    loop.add(std::move(request));
  }

  void run_all(StepLoop& loop) {
    int steps = 0;
    while (loop.step())
      ASSERT_LT(++steps, 200'000);
  }

  const llm::Answer& answer(int name) { return std::get<llm::Answer>(outcomes_.at(name)); }
  const llm::Failure& failure(int name) { return std::get<llm::Failure>(outcomes_.at(name)); }

  ManualClock clock_;
  ByteVocabulary vocabulary_;
  std::map<int, llm::Outcome> outcomes_;
  bool listens_ = false;  // to the rows that are added
};

void expect_same(const llm::Answer& answer, const llm::Answer& expected) {
  ASSERT_EQ(answer.choices.size(), 1U);
  std::string why;
  EXPECT_TRUE(testing::same_choice(answer.choices[0], expected.choices[0], why)) << why;
  EXPECT_EQ(answer.usage.prompt_tokens, expected.usage.prompt_tokens);
  EXPECT_EQ(answer.usage.completion_tokens, expected.usage.completion_tokens);
}

TEST_F(StepLoopTest, OneRowIsAnsweredAsThePlainLoopAnswersIt) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  add(loop, 1, request({1, 2, 3}, 20));
  run_all(loop);
  expect_same(answer(1), scripted_answer(request({1, 2, 3}, 20), kLimits.vocabulary_size));
  EXPECT_EQ(runner.cells_used_max(), 22) << "the last token is never computed";
  EXPECT_EQ(runner.cells_used(), 0);
}

TEST_F(StepLoopTest, TimingsAreTakenFromTheClock) {
  ScriptedRunner runner(kLimits);
  runner.on_step = [&](std::span<const StepRow>) { clock_.advance(std::chrono::milliseconds(10)); };
  StepLoop loop(runner, vocabulary_, clock_);
  EngineRequest one = request({1, 2, 3}, 5);
  one.ignore_eos = true;
  add(loop, 1, std::move(one));
  clock_.advance(std::chrono::milliseconds(7));
  run_all(loop);
  EXPECT_EQ(answer(1).timings.queue_ms, 7);
  EXPECT_EQ(answer(1).timings.prefill_ms, 10);
  EXPECT_EQ(answer(1).timings.decode_ms, 40);
}

TEST_F(StepLoopTest, IgnoreEosGoesOnToTheLimit) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  // A prompt whose greedy answer ends by itself within 190 tokens; found by trying.
  std::optional<Token> ends;
  for (Token first = 0; first < 200 && !ends; ++first) {
    const llm::Answer alone = scripted_answer(request({first}, 190), kLimits.vocabulary_size);
    if (alone.choices[0].finish_reason == llm::FinishReason::kStop) ends = first;
  }
  ASSERT_TRUE(ends);
  add(loop, 1, request({*ends}, 190));
  EngineRequest on = request({*ends}, 190);
  on.ignore_eos = true;
  add(loop, 2, std::move(on));
  run_all(loop);
  EXPECT_EQ(answer(1).choices[0].finish_reason, llm::FinishReason::kStop);
  EXPECT_EQ(answer(1).choices[0].tokens.back().chosen.token, ByteVocabulary::kEnd);
  EXPECT_EQ(answer(2).choices[0].finish_reason, llm::FinishReason::kLength);
  EXPECT_EQ(answer(2).usage.completion_tokens, 190);
}

TEST_F(StepLoopTest, AStepThatFailsCostsOnlyTheRowToBlame) {
  ScriptedRunner runner(kLimits);
  runner.fault = [](std::span<const StepRow> step) -> std::optional<Error> {
    for (const StepRow& row : step) {
      if (row.tokens.front() == 66 && row.first == 0) return Error{ErrorKind::kInvalid, "bad row"};
    }
    return std::nullopt;
  };
  StepLoop loop(runner, vocabulary_, clock_);
  for (int name = 64; name < 69; ++name)
    add(loop, name, request({name, 1, 2}, 9));
  run_all(loop);
  ASSERT_EQ(outcomes_.size(), 5U);
  for (int name = 64; name < 69; ++name) {
    if (name == 66) continue;
    expect_same(answer(name), scripted_answer(request({name, 1, 2}, 9), kLimits.vocabulary_size));
  }
  EXPECT_EQ(failure(66).status, 500);
  EXPECT_EQ(failure(66).failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure(66).message, "bad row");
}

TEST_F(StepLoopTest, AModelThatFailsEveryRowIsGivenUp) {
  ScriptedRunner runner(kLimits);
  runner.fault = [](std::span<const StepRow>) { return Error{ErrorKind::kInvalid, "device lost"}; };
  StepLoop loop(runner, vocabulary_, clock_);
  for (int name = 0; name < 6; ++name)
    add(loop, name, request({name}, 9));
  run_all(loop);
  int given_up = 0;
  for (int name = 0; name < 6; ++name) {
    if (failure(name).failure_class == llm::FailureClass::kBackend) ++given_up;
  }
  EXPECT_EQ(given_up, 4) << "two rows fail on their own account before the third settles it";
  add(loop, 7, request({1}, 9));
  EXPECT_EQ(failure(7).failure_class, llm::FailureClass::kBackend);
}

TEST_F(StepLoopTest, ADeviceThatThrowsIsGivenUpWithItsReason) {
  ScriptedRunner runner(kLimits);
  runner.fault = [](std::span<const StepRow>) -> std::optional<Error> {
    throw std::runtime_error("ErrorDeviceLost");
  };
  StepLoop loop(runner, vocabulary_, clock_);
  for (int name = 0; name < 3; ++name)
    add(loop, name, request({name}, 9));
  run_all(loop);
  for (int name = 0; name < 3; ++name) {
    EXPECT_EQ(failure(name).failure_class, llm::FailureClass::kBackend);
    EXPECT_NE(failure(name).message.find("ErrorDeviceLost"), std::string::npos);
  }
}

TEST_F(StepLoopTest, MemoryThatIsSmallerThanItSaysOnlyCostsTime) {
  ScriptedRunner runner(kLimits);
  runner.fault = [](std::span<const StepRow> step) -> std::optional<Error> {
    if (step.size() < 2) return std::nullopt;
    return Error{ErrorKind::kNoSpace, "full"};
  };
  StepLoop loop(runner, vocabulary_, clock_);
  for (int name = 0; name < 4; ++name)
    add(loop, name, request({name, 5}, 6));
  run_all(loop);
  for (int name = 0; name < 4; ++name) {
    expect_same(answer(name), scripted_answer(request({name, 5}, 6), kLimits.vocabulary_size));
  }
}

TEST_F(StepLoopTest, WithdrawingRowsLeavesRunningOnesAlone) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  std::stop_source stop;
  for (int name = 0; name < 6; ++name) {
    EngineRequest asked = request({name}, 9);
    asked.withdrawn = stop.get_token();
    add(loop, name, std::move(asked));
  }
  ASSERT_TRUE(loop.step());
  stop.request_stop();
  ASSERT_TRUE(loop.step());
  EXPECT_EQ(outcomes_.size(), 2U);
  EXPECT_EQ(failure(5).failure_class, llm::FailureClass::kCancelled);
  run_all(loop);
  EXPECT_EQ(outcomes_.size(), 6U);
  EXPECT_FALSE(answer(3).choices[0].tokens.empty());
}

TEST_F(StepLoopTest, NothingIsLeftUnansweredWhenTheLoopEnds) {
  ScriptedRunner runner(kLimits);
  {
    StepLoop loop(runner, vocabulary_, clock_);
    for (int name = 0; name < 6; ++name)
      add(loop, name, request({name}, 9));
    ASSERT_TRUE(loop.step());
  }
  EXPECT_EQ(outcomes_.size(), 6U);
}

TEST_F(StepLoopTest, CountsEachTokenOnce) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  for (int name = 0; name < 3; ++name) {
    EngineRequest row = request(std::vector<Token>(50, name), 40);
    row.ignore_eos = true;
    add(loop, name, std::move(row));
  }
  run_all(loop);
  EXPECT_EQ(loop.stats().prompt_tokens, 150);
  EXPECT_EQ(loop.stats().generated_tokens, 120);
  EXPECT_EQ(loop.stats().rows_running, 0);
  EXPECT_EQ(loop.stats().cells_used, 0);
}

TEST_F(StepLoopTest, EachStepReportsWhatItDid) {
  RunnerLimits limits = kLimits;
  limits.sharing = Sharing::kAnyRange;
  ScriptedRunner runner(limits);
  runner.on_step = [&](std::span<const StepRow>) { clock_.advance(std::chrono::milliseconds(10)); };
  std::vector<llm::StepReport> reports;
  StepLoop loop(runner, vocabulary_, clock_,
                {.on_step = [&](const llm::StepReport& report) { reports.push_back(report); }});
  for (int name = 0; name < 2; ++name) {
    std::vector<Token> prompt(41, 5);
    prompt.back() = name;
    add(loop, name, request(std::move(prompt), 3));
  }
  run_all(loop);
  ASSERT_GE(reports.size(), 3U);
  EXPECT_EQ(reports[0].rows_prefilling, 1) << "the other waits for what they have in common";
  EXPECT_EQ(reports[0].tokens, 41);
  EXPECT_EQ(reports[0].cached_tokens, 0);
  EXPECT_EQ(reports[1].rows_decoding, 1);
  EXPECT_EQ(reports[1].rows_prefilling, 1);
  EXPECT_EQ(reports[1].tokens, 2);
  EXPECT_EQ(reports[1].cached_tokens, 40);
  EXPECT_EQ(reports[1].outputs, 2);
  for (const llm::StepReport& report : reports) {
    EXPECT_EQ(report.kind, llm::StepKind::kGenerate);
    EXPECT_EQ(report.duration, std::chrono::milliseconds(10));
    EXPECT_EQ(report.preempted, 0);
  }
  EXPECT_EQ(static_cast<int64_t>(reports.size()), loop.stats().steps);
}

TEST_F(StepLoopTest, RowsThatLoseTheirPlaceAreReported) {
  ScriptedRunner runner(kLimits);
  int64_t preempted = 0;
  StepLoop loop(runner, vocabulary_, clock_,
                {.on_step = [&](const llm::StepReport& report) { preempted += report.preempted; }});
  for (int name = 0; name < 4; ++name) {
    EngineRequest row = request({name}, 150);
    row.ignore_eos = true;
    add(loop, name, std::move(row));
  }
  run_all(loop);
  EXPECT_GT(preempted, 0);
  EXPECT_EQ(preempted, loop.stats().preemptions);
}

TEST_F(StepLoopTest, APromptIsScoredOnceWhateverIsComputedAgain) {
  RunnerLimits limits = kLimits;
  limits.step_outputs_max = 5;
  ScriptedRunner runner(limits);
  StepLoop loop(runner, vocabulary_, clock_);
  for (int name = 0; name < 3; ++name) {
    EngineRequest row = request(std::vector<Token>(40, name), name == 0 ? 0 : 70);
    row.ignore_eos = true;
    row.logprobs_top = 3;
    row.score_prompt = true;
    add(loop, name, std::move(row));
  }
  run_all(loop);
  for (int name = 0; name < 3; ++name) {
    EngineRequest row = request(std::vector<Token>(40, name), name == 0 ? 0 : 70);
    row.ignore_eos = true;
    row.logprobs_top = 3;
    row.score_prompt = true;
    expect_same(answer(name), scripted_answer(row, limits.vocabulary_size));
  }
  EXPECT_EQ(answer(0).choices[0].tokens.size(), 40U);
  EXPECT_EQ(answer(0).choices[0].finish_reason, llm::FinishReason::kLength);
}

TEST_F(StepLoopTest, WithNothingToComputeTheAnswerIsThereAtOnce) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  add(loop, 1, request({1, 2, 3}, 0));
  EngineRequest scored = request({7}, 0);
  scored.score_prompt = true;
  add(loop, 2, std::move(scored));
  EXPECT_FALSE(loop.step());
  EXPECT_EQ(answer(1).usage.prompt_tokens, 3);
  EXPECT_EQ(answer(1).choices[0].finish_reason, llm::FinishReason::kLength);
  ASSERT_EQ(answer(2).choices[0].tokens.size(), 1U);
  EXPECT_FALSE(answer(2).choices[0].tokens[0].has_logprob);
}

TEST_F(StepLoopTest, TheTokenThatEndsAnAnswerIsListedButNotInTheText) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  EngineRequest ends = request({1}, 9);
  ends.sampling.logit_bias = {{.token = ByteVocabulary::kEnd, .bias = 100}};
  ends.text_before = "before";
  add(loop, 1, std::move(ends));
  run_all(loop);
  EXPECT_EQ(answer(1).choices[0].text, "before");
  EXPECT_EQ(answer(1).choices[0].finish_reason, llm::FinishReason::kStop);
  ASSERT_EQ(answer(1).choices[0].tokens.size(), 1U);
  EXPECT_EQ(answer(1).choices[0].tokens[0].chosen.bytes, "<|im_end|>");
}

// Rows of all kinds, arriving at any time, with far too little memory, steps that fail and chunks
// that end anywhere, and prompts that share prefixes: each is answered exactly as alone.
TEST_F(StepLoopTest, NothingThatHappensAroundARowChangesItsAnswer) {
  int64_t scored_and_shared = 0;
  for (uint64_t seed = 0; seed < windrow::testing::rounds(40U, 160U); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    outcomes_.clear();
    const auto sequences = static_cast<int32_t>(random.between(1, 6));
    const auto cells = static_cast<int32_t>(random.between(40, 160));
    const RunnerLimits limits{
        .cells_max = cells,
        .rows_max = sequences,
        .sequences_max = sequences + static_cast<int32_t>(random.below(4)),
        .step_tokens_max = static_cast<int32_t>(random.between(sequences, 48)),
        .step_outputs_max = static_cast<int32_t>(random.between(sequences, 20)),
        .row_tokens_max = cells,
        .vocabulary_size = ByteVocabulary::kSize,
        .sharing = std::array{Sharing::kNothing, Sharing::kExactEnd,
                              Sharing::kAnyRange}[static_cast<size_t>(random.below(3))]};
    std::vector<Token> beginning(static_cast<size_t>(cells));
    for (Token& token : beginning)
      token = static_cast<Token>(random.below(259));
    ScriptedRunner runner(limits);
    runner.on_step = [&](std::span<const StepRow> step) {
      clock_.advance(std::chrono::milliseconds(random.below(100) * step.size()));
    };
    runner.fault = [&](std::span<const StepRow> step) -> std::optional<Error> {
      if (step.size() > 1 && random.chance(0.02)) return Error{ErrorKind::kInvalid, "by chance"};
      if (step.size() > 1 && random.chance(0.02)) return Error{ErrorKind::kNoSpace, "by chance"};
      return std::nullopt;
    };
    StepLoop loop(
        runner, vocabulary_, clock_,
        {.step_target = std::chrono::milliseconds(random.between(1, 2000)),
         .lone_step_target = std::chrono::milliseconds(random.between(1, 2000)),
         .sampling_threads = {.count = static_cast<int32_t>(random.between(1, 3)), .logits_min = 0},
         .reserve = random.chance(0.5) ? queueing::kServerReserve : queueing::ReserveOptions()});
    std::map<int, llm::Answer> expected;
    std::set<int> scored;
    for (int name = 0; name < 24; ++name) {
      const auto prompt = static_cast<size_t>(random.between(1, cells - 2));
      std::vector<Token> tokens(prompt);
      // Many begin alike.
      const size_t alike = random.chance(0.6) ? static_cast<size_t>(random.below(prompt)) : 0;
      std::copy_n(beginning.begin(), alike, tokens.begin());
      for (size_t i = alike; i < prompt; ++i)
        tokens[i] = static_cast<Token>(random.below(259));
      EngineRequest row =
          request(std::move(tokens),
                  static_cast<int32_t>(random.between(1, cells - static_cast<int>(prompt))));
      row.sampling = {.temperature = random.chance(0.5) ? 0.0F : 1.0F,
                      .top_k = static_cast<int32_t>(random.below(20)),
                      .frequency_penalty = random.chance(0.3) ? 1.5F : 0.0F,
                      .repetition_penalty = random.chance(0.3) ? 1.2F : 1.0F,
                      .seed = random.next()};
      if (random.chance(0.7)) row.logprobs_top = static_cast<int32_t>(random.below(6));
      if (random.chance(0.4)) row.logprobs_top = std::nullopt;
      row.score_prompt = row.logprobs_top && random.chance(0.5);
      if (random.chance(0.2)) row.prompt_logprobs_top = static_cast<int32_t>(random.below(4));
      if (random.chance(0.3)) row.score_from = static_cast<int32_t>(random.below(12));
      row.return_token_ids = random.chance(0.3);
      if (random.chance(0.3)) row.stop_tokens = {static_cast<Token>(random.below(256))};
      if (row.score_prompt) scored.insert(name);
      if (row.score_prompt && random.chance(0.5)) row.output_tokens_max = 0;
      row.ignore_eos = random.chance(0.3);
      row.priority = static_cast<llm::Priority>(random.below(3));
      if (random.chance(0.3)) row.stop = {std::string(1, static_cast<char>(random.below(256)))};
      expected.emplace(name, scripted_answer(row, limits.vocabulary_size));
      listens_ = random.chance(0.5) && !row.prompt_logprobs_top;
      add(loop, name, std::move(row));
      for (int64_t steps = random.between(0, 6); steps > 0; --steps)
        loop.step();
    }
    run_all(loop);
    ASSERT_EQ(outcomes_.size(), expected.size());
    for (const auto& [name, alone] : expected) {
      SCOPED_TRACE(::testing::Message() << "row " << name);
      ASSERT_TRUE(std::holds_alternative<llm::Answer>(outcomes_.at(name)));
      expect_same(answer(name), alone);
      if (scored.contains(name)) scored_and_shared += answer(name).usage.cached_tokens;
    }
    EXPECT_EQ(loop.stats().cells_used, 0);
    if (HasFailure()) return;
  }
  EXPECT_GT(scored_and_shared, windrow::testing::rounds(50, 500))
      << "too little was shared to test anything";
}

// --- reports ---

TEST_F(StepLoopTest, AnObserverHearsWhoseTheRowsWere) {
  ScriptedRunner runner(kLimits);
  std::map<uint64_t, int32_t> tokens;
  std::vector<llm::RowTrace> last;
  StepLoop loop(
      runner, vocabulary_, clock_,
      {.on_rows = [&](const llm::StepReport& report, std::span<const llm::RowTrace> rows) {
        int32_t sum = 0;
        for (const llm::RowTrace& row : rows) {
          tokens[row.tag] += row.tokens;
          sum += row.tokens;
        }
        EXPECT_EQ(sum, report.tokens);
        EXPECT_EQ(std::ssize(rows), report.rows_decoding + report.rows_prefilling);
        last.assign(rows.begin(), rows.end());
      }});
  EngineRequest one = request({1, 2, 3}, 5);
  one.trace_tag = 7;
  one.ignore_eos = true;
  EngineRequest other = request({4, 5}, 9);
  other.trace_tag = 8;
  other.ignore_eos = true;
  add(loop, 1, std::move(one));
  add(loop, 2, std::move(other));
  run_all(loop);
  EXPECT_EQ(tokens, (std::map<uint64_t, int32_t>{{7, 3 + 4}, {8, 2 + 8}}));
  EXPECT_EQ(last, (std::vector<llm::RowTrace>{{.tag = 8, .tokens = 1, .is_decoding = true}}));
}

TEST_F(StepLoopTest, AnAnswerComesAfterTheReportOfItsLastStep) {
  ScriptedRunner runner(kLimits);
  int32_t steps_reported = 0;
  StepLoop loop(runner, vocabulary_, clock_,
                {.on_rows = [&](const llm::StepReport&, std::span<const llm::RowTrace>) {
                  ++steps_reported;
                }});
  EngineRequest three = request({1, 2}, 3);
  three.ignore_eos = true;
  three.done = [&](const llm::Outcome&) { EXPECT_EQ(steps_reported, 3); };
  loop.add(std::move(three));
  run_all(loop);
  EXPECT_EQ(steps_reported, 3);
}

// --- memory ---

// Allocation fails wherever this vocabulary writes this token.
class TightVocabulary final : public Vocabulary {
 public:
  explicit TightVocabulary(Token too_much) : too_much_(too_much) {}

  int32_t size() const override { return bytes_.size(); }
  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override {
    return bytes_.tokenize(text, control);
  }
  void append_bytes(Token token, std::string& text) const override {
    bytes_.append_bytes(token, text);
  }
  void append_piece(Token token, std::string& text) const override {
    if (token == too_much_) throw std::bad_alloc();
    bytes_.append_piece(token, text);
  }
  bool ends_answer(Token token) const override { return bytes_.ends_answer(token); }
  std::optional<Token> begin_token() const override { return bytes_.begin_token(); }
  std::vector<ControlToken> control_tokens() const override { return bytes_.control_tokens(); }

 private:
  const ByteVocabulary bytes_;
  const Token too_much_;
};

TEST_F(StepLoopTest, MemoryThatEndsForOneRowEndsNoOther) {
  // Some token that the one says and the other does not.
  const llm::Answer one = scripted_answer(request({1, 2, 3}, 30), kLimits.vocabulary_size);
  const llm::Answer other = scripted_answer(request({4, 5, 6}, 30), kLimits.vocabulary_size);
  std::set<Token> said_by_other;
  for (const llm::ScoredToken& token : other.choices[0].tokens)
    said_by_other.insert(token.chosen.token);
  Token too_much = -1;
  for (const llm::ScoredToken& token : one.choices[0].tokens) {
    if (!said_by_other.contains(token.chosen.token)) too_much = token.chosen.token;
  }
  ASSERT_GE(too_much, 0);
  for (const int32_t threads : {1, 3}) {
    outcomes_.clear();
    ScriptedRunner runner(kLimits);
    const TightVocabulary vocabulary(too_much);
    StepLoop loop(runner, vocabulary, clock_,
                  {.sampling_threads = {.count = threads, .logits_min = 0}});
    add(loop, 0, request({1, 2, 3}, 30));
    add(loop, 1, request({4, 5, 6}, 30));
    run_all(loop);
    EXPECT_EQ(failure(0).code, "out_of_memory");
    EXPECT_EQ(failure(0).failure_class, llm::FailureClass::kRequest);
    expect_same(answer(1), other);
  }
}

TEST_F(StepLoopTest, MemoryThatEndsForAListenerEndsItsRowAlone) {
  class Full final : public llm::StreamSink {
   public:
    void on_delta(llm::Delta) override { throw std::bad_alloc(); }
  };
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  EngineRequest heard = request({1, 2, 3}, 30);
  heard.listener = std::make_shared<Full>();
  heard.done = [this](llm::Outcome outcome) { outcomes_.emplace(0, std::move(outcome)); };
  loop.add(std::move(heard));
  add(loop, 1, request({4, 5, 6}, 30));
  run_all(loop);
  EXPECT_EQ(failure(0).code, "out_of_memory");
  expect_same(answer(1), scripted_answer(request({4, 5, 6}, 30), kLimits.vocabulary_size));
}

TEST_F(StepLoopTest, AnAnswerThatHasNoRoomEndsAlone) {
  const auto room = std::make_shared<llm::AnswerRoom>(2 * llm::AnswerShare::kBlockBytes);
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  for (int name = 0; name < 2; ++name) {
    EngineRequest asked = request({1, 2, name}, 190);
    asked.ignore_eos = true;
    // Some 200 bytes a token, or about 2,000.
    asked.logprobs_top = name == 0 ? 20 : 0;
    asked.answer_share = std::make_shared<llm::AnswerShare>(room);
    add(loop, name, std::move(asked));
  }
  run_all(loop);
  EXPECT_EQ(failure(0).status, 503);
  EXPECT_EQ(failure(0).code, "server_overloaded");
  EXPECT_GT(failure(0).usage.completion_tokens, 0);
  EXPECT_EQ(answer(1).choices[0].tokens.size(), 190U);
  // What they took is given back with them.
  EXPECT_EQ(room->bytes(), 0U);
  EXPECT_EQ(room->refused(), 1);
}

}  // namespace
}  // namespace windrow::engine
