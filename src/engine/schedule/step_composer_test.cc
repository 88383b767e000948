// How prompts share a step: with rows that decode, and with each other.
#include "engine/schedule/step_composer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "base/random.h"
#include "engine/schedule/batch_scheduler.h"

namespace windrow::engine {
namespace {

class PromptShareTest : public ::testing::Test {
 protected:
  static SchedulerLimits limits(bool mixes = true) {
    return {.cells_max = 100'000,
            .rows_max = 32,
            .sequences_max = 32,
            .step_tokens_max = 2048,
            .step_outputs_max = 64,
            .mixes = mixes};
  }

  // A row with a prompt of its own and an answer of so many tokens.
  void add(uint64_t row, int32_t prompt_tokens, int32_t answer_tokens) {
    Known& known = rows_[row];
    known.end = static_cast<size_t>(prompt_tokens + answer_tokens);
    known.tokens.reserve(known.end);
    for (int32_t i = 0; i < prompt_tokens; ++i)
      known.tokens.push_back(static_cast<Token>(row * 10'000) + i);
    scheduler_->add({.id = RowId(row),
                     .tokens = &known.tokens,
                     .prompt_tokens = prompt_tokens,
                     .output_tokens_max = answer_tokens,
                     .outputs_from = prompt_tokens - 1});
  }

  // Tokens of each row in the next step.
  std::map<uint64_t, int32_t> run(int32_t prefill_tokens_max, int32_t lone_tokens_max = 0) {
    const ScheduledStep step = scheduler_->next(prefill_tokens_max, lone_tokens_max);
    scheduler_->step_ran(step);
    std::map<uint64_t, int32_t> tokens;
    for (const Slice& part : step.slices) {
      const uint64_t row = part.row.value();
      tokens[row] = part.tokens_count;
      Known& known = rows_.at(row);
      if (part.first + part.tokens_count < std::ssize(known.tokens)) continue;
      known.tokens.push_back(7);
      if (known.tokens.size() == known.end) {
        scheduler_->remove(part.row);
        rows_.erase(row);
      } else {
        scheduler_->extend(part.row);
      }
    }
    return tokens;
  }

  bool runs(uint64_t row) const { return rows_.contains(row); }

  struct Known {
    std::vector<Token> tokens;
    size_t end = 0;
  };
  std::map<uint64_t, Known> rows_;
  std::unique_ptr<BatchScheduler> scheduler_ = std::make_unique<BatchScheduler>(limits());
};

using Tokens = std::map<uint64_t, int32_t>;

TEST_F(PromptShareTest, ARowThatIsAloneHasLongerChunks) {
  add(1, 1000, 9);
  EXPECT_EQ(run(50, 400), (Tokens{{1, 400}}));
  add(2, 30, 9);
  EXPECT_EQ(run(50, 400), (Tokens{{1, 25}, {2, 25}})) << "now somebody waits";
  EXPECT_EQ(run(50, 400), (Tokens{{1, 45}, {2, 5}}));
  EXPECT_EQ(run(50, 400), (Tokens{{1, 50}, {2, 1}}));
  while (runs(2))
    run(50, 400);
  EXPECT_EQ(run(50, 400), (Tokens{{1, 130}})) << "what is left, in one";
}

// Rows that wait for what it computes, or for its slot, gain by long chunks.
TEST_F(PromptShareTest, ARowThatOthersWaitForIsAlone) {
  SchedulerLimits sharing = limits();
  sharing.sharing = Sharing::kAnyRange;
  scheduler_ = std::make_unique<BatchScheduler>(sharing);
  std::vector<Token> tokens(1000, 5);
  for (uint64_t row = 1; row < 4; ++row) {
    scheduler_->add({.id = RowId(row),
                     .tokens = &tokens,
                     .prompt_tokens = 1000,
                     .output_tokens_max = 5,
                     .outputs_from = 999});
  }
  const ScheduledStep step = scheduler_->next(50, 400);
  ASSERT_EQ(step.slices.size(), 1U);
  EXPECT_EQ(step.slices[0].tokens_count, 400);
}

// The short ones answer at once, and the long one has half of every step.
TEST_F(PromptShareTest, ShortPromptsDoNotWaitForALongOneNorItForThem) {
  add(0, 2000, 1);
  uint64_t next = 1;
  int steps = 0;
  while (runs(0)) {
    const uint64_t shorter = next++;
    add(shorter, 20, 1);
    const Tokens tokens = run(100);
    EXPECT_EQ(tokens.at(0), std::min(80, 2000 - 80 * steps));
    EXPECT_FALSE(runs(shorter)) << "it waited for the long one";
    ++steps;
  }
  EXPECT_EQ(steps, 25);
}

// However many come: a row waits at most for those before it, of which the oldest has half of what
// a step prefills, or where they do not mix every fourth step.
TEST_F(PromptShareTest, NoneStarves) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const bool mixes : {true, false}) {
      scheduler_ = std::make_unique<BatchScheduler>(limits(mixes));
      rows_.clear();
      uint64_t next = 1;
      std::map<uint64_t, int> since;
      for (int step = 0; step < 3000; ++step) {
        while (rows_.size() < 30) {
          add(next,
              static_cast<int32_t>(random.chance(0.1) ? random.between(500, 900)
                                                      : random.between(2, 40)),
              static_cast<int32_t>(random.between(1, 6)));
          since[next++] = step;
        }
        run(100);
        for (const auto& [row, known] : rows_)
          ASSERT_LT(step - since[row], mixes ? 560 : 1100) << "row " << row;
      }
    }
  }
}

TEST_F(PromptShareTest, WhereTheyDoNotMixALongPromptGivesWayAfterEachChunk) {
  scheduler_ = std::make_unique<BatchScheduler>(limits(false));
  add(1, 10, 50);
  run(100);
  add(2, 400, 5);
  add(3, 30, 5);
  add(4, 40, 5);
  std::vector<Tokens> steps;
  for (int i = 0; i < 7; ++i)
    steps.push_back(run(100));
  EXPECT_EQ(steps, (std::vector<Tokens>{{{3, 30}},
                                        {{1, 1}, {3, 1}},
                                        {{2, 100}},
                                        {{1, 1}, {3, 1}},
                                        {{4, 40}},
                                        {{1, 1}, {3, 1}, {4, 1}},
                                        {{2, 100}}}));
}

// Rows that end after one token are only in the steps of their prompt.
TEST_F(PromptShareTest, ABurstOfOneTokenRowsIsComputedBesideRowsThatDecode) {
  for (uint64_t row = 0; row < 4; ++row)
    add(row, 10, 100);
  run(200);
  for (uint64_t row = 10; row < 30; ++row)
    add(row, 40, 1);
  int steps = 0;
  while (rows_.size() > 4) {
    const Tokens tokens = run(200);
    for (uint64_t row = 0; row < 4; ++row)
      EXPECT_EQ(tokens.at(row), 1) << "it was stalled";
    ++steps;
  }
  EXPECT_EQ(steps, 4) << "800 tokens at 200 a step";
}

// Without a scheduler: rows as they run.
TEST(StepComposer, RowsThatDecodeComeFirstAndTheOldestPromptHasHalfOfTheRest) {
  KvMemory memory({.cells_max = 1000, .sequences_max = 8, .sharing = Sharing::kAnyRange});
  StepComposer composer({.tokens_max = 101, .outputs_max = 8}, memory);
  const std::vector<Token> tokens(400, 7);
  std::vector<ScheduledRow> rows(3);
  std::vector<ScheduledRow*> running;
  for (ScheduledRow& row : rows) {
    row.id = RowId(running.size());
    row.source = &tokens;
    row.tokens = row.prompt_tokens = 300;
    row.outputs_from = 299;
    row.sequence = SequenceId(static_cast<int32_t>(running.size()));
    row.begun = true;
    running.push_back(&row);
  }
  rows[0].computed = 299;
  rows[2].computed = 260;
  const ScheduledStep step = composer.compose(running, 1000, 0, {});
  ASSERT_EQ(step.slices.size(), 3U);
  EXPECT_EQ(step.slices[0].row, RowId(0));
  EXPECT_EQ(step.slices[0].tokens_count, 1);
  EXPECT_EQ(step.slices[0].outputs_count, 1);
  EXPECT_EQ(step.slices[1].tokens_count, 60);
  EXPECT_EQ(step.slices[2].tokens_count, 40) << "the shortest has all it wants";
  EXPECT_TRUE(step.clients_wait);
}

TEST(StepComposer, BatchRowsBringNoMoreThanTheyMay) {
  KvMemory memory({.cells_max = 1000, .sequences_max = 8, .sharing = Sharing::kAnyRange});
  StepComposer composer({.tokens_max = 100, .outputs_max = 8}, memory);
  const std::vector<Token> tokens(400, 7);
  ScheduledRow row;
  row.id = RowId(1);
  row.source = &tokens;
  row.tokens = row.prompt_tokens = 300;
  row.outputs_from = 299;
  row.sequence = SequenceId(0);
  row.begun = true;
  row.priority = row.rank = llm::Priority::kBatch;
  ScheduledRow* const running[] = {&row};
  const ScheduledStep step = composer.compose(running, 1000, 0, {.between_clients_max = 10});
  ASSERT_EQ(step.slices.size(), 1U);
  EXPECT_EQ(step.slices[0].tokens_count, 10);
  EXPECT_EQ(step.background_tokens, 10);
  EXPECT_FALSE(step.clients_wait);
}

}  // namespace
}  // namespace windrow::engine
