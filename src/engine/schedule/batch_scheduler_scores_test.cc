// Rows whose prompts are scored: they share what is computed and scored, as other rows share what
// is computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <ostream>
#include <vector>

#include "engine/schedule/batch_scheduler.h"

namespace windrow::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What a row brings to a step: its number, first token, tokens, outputs.
struct Brings {
  uint64_t row = 0;
  Position first = 0;
  int32_t tokens_count = 0;
  int32_t outputs_count = 0;

  friend bool operator==(const Brings&, const Brings&) = default;
  friend void PrintTo(const Brings& brings, std::ostream* stream) {
    *stream << "row " << brings.row << " from " << brings.first << ": " << brings.tokens_count
            << " tokens, " << brings.outputs_count << " outputs";
  }
};

class PromptScores : public ::testing::Test {
 protected:
  static SchedulerLimits limits(Sharing sharing = Sharing::kAnyRange, int32_t rows_max = 4) {
    return {.cells_max = 1000,
            .rows_max = rows_max,
            .sequences_max = rows_max + 4,
            .step_tokens_max = 200,
            .step_outputs_max = 200,
            .sharing = sharing};
  }

  // A prompt of `shared` tokens, which all rows begin with, and its own; it generates nothing.
  // Scored with `top` alternatives; none: it only wants the logits of its last token.
  void add(BatchScheduler& scheduler, uint64_t id, int32_t shared, int32_t own,
           std::optional<int32_t> top = 0) {
    Row& row = rows_[id];
    for (int32_t i = 0; i < shared; ++i)
      row.tokens.push_back(1000 + i);
    for (int32_t i = 0; i < own; ++i)
      row.tokens.push_back(static_cast<Token>(id * 10'000) + i);
    row.top = top;
    row.outputs_from = top ? 0 : shared + own - 1;
    scheduler.add({.id = RowId(id),
                   .tokens = &row.tokens,
                   .prompt_tokens = shared + own,
                   .output_tokens_max = 1,
                   .outputs_from = row.outputs_from,
                   .scores_top = top});
  }

  // Runs a step: scores are kept, rows that have all theirs end.
  std::vector<Brings> run(BatchScheduler& scheduler, int32_t prefill_tokens_max = 200) {
    const ScheduledStep step = scheduler.next(prefill_tokens_max);
    for (const TakenScores& taken : step.scores) {
      Row& row = rows_.at(taken.row.value());
      for (const KeptScore& score : taken.scores) {
        const auto next = static_cast<size_t>(row.outputs_from++) + 1;
        EXPECT_EQ(score, score_of(row, next, score.top_asked));
        EXPECT_GE(score.top_asked, *row.top);
      }
    }
    scheduler.step_ran(step);
    std::vector<Brings> brought;
    for (const Slice& part : step.slices) {
      const uint64_t id = part.row.value();
      brought.push_back({id, part.first, part.tokens_count, part.outputs_count});
      Row& row = rows_.at(id);
      const Position end = part.first + part.tokens_count;
      for (Position at = part.first; at < end; ++at) {
        if (at >= end - part.outputs_count) {
          EXPECT_EQ(at, row.outputs_from++);
        }
        const auto next = static_cast<size_t>(at) + 1;
        if (row.top && next < row.tokens.size())
          scheduler.keep_score(part.row, at, score_of(row, next, *row.top));
      }
      if (row.outputs_from == std::ssize(row.tokens)) scheduler.remove(part.row);
    }
    return brought;
  }

 private:
  struct Row {
    std::vector<Token> tokens;
    std::optional<int32_t> top;
    Position outputs_from = 0;
  };

  static KeptScore score_of(const Row& row, size_t next, int32_t top) {
    return {.next = row.tokens.at(next),
            .logprob = -1.0F / static_cast<float>(next),
            .top_asked = top,
            .top = std::vector<KeptAlternative>(static_cast<size_t>(top))};
  }

  std::map<uint64_t, Row> rows_;
};

TEST_F(PromptScores, AColdPrefixIsScoredByOneWhileTheOthersWait) {
  BatchScheduler scheduler(limits());
  for (uint64_t row = 1; row <= 3; ++row)
    add(scheduler, row, 60, 5);
  EXPECT_THAT(run(scheduler, 40), ElementsAre(Brings{1, 0, 40, 40}));
  EXPECT_THAT(run(scheduler, 40), ElementsAre(Brings{1, 40, 25, 25}));
  // The last token they share is followed by another one, so it is computed again.
  EXPECT_THAT(run(scheduler, 40), ElementsAre(Brings{2, 59, 6, 6}, Brings{3, 59, 6, 6}));
  EXPECT_THAT(run(scheduler), IsEmpty());
  EXPECT_EQ(scheduler.counts().cells_used, 0);
}

TEST_F(PromptScores, WhatIsScoredStaysAsLongAsARowWaitsForIt) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange, 1));
  add(scheduler, 1, 60, 5);
  add(scheduler, 2, 0, 50);
  add(scheduler, 3, 60, 5);
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{1, 0, 65, 65}));
  EXPECT_EQ(scheduler.counts().cells_cached, 59);
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{2, 0, 50, 50}));
  EXPECT_EQ(scheduler.counts().cells_cached, 59) << "no waiting row wants the second";
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{3, 59, 6, 6}));
  EXPECT_THAT(run(scheduler), IsEmpty());
  EXPECT_EQ(scheduler.counts().cells_used, 0);
}

TEST_F(PromptScores, CellsWithoutScoresAreOfNoUseAndNotWaitedFor) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange, 1));
  add(scheduler, 1, 60, 5, std::nullopt);
  add(scheduler, 2, 60, 5);
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{1, 0, 65, 1}));
  EXPECT_EQ(scheduler.counts().cells_cached, 0);
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{2, 0, 65, 65}));

  BatchScheduler beside(limits());
  add(beside, 3, 60, 5, std::nullopt);
  add(beside, 4, 60, 5);
  EXPECT_THAT(run(beside), ElementsAre(Brings{3, 0, 65, 1}, Brings{4, 0, 65, 65}));
}

TEST_F(PromptScores, ARowThatIsNotScoredTakesCellsThatAre) {
  BatchScheduler scheduler(limits());
  add(scheduler, 1, 60, 5);
  add(scheduler, 2, 60, 5, std::nullopt);
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{1, 0, 65, 65}));
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{2, 60, 5, 1}));
}

TEST_F(PromptScores, WithMoreAlternativesThanAreKeptARowIsScoredAgainAndThenItsScoresAreShared) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange, 1));
  add(scheduler, 1, 60, 5, 1);
  add(scheduler, 2, 60, 5, 5);
  add(scheduler, 3, 60, 5, 2);
  add(scheduler, 4, 60, 5, 5);
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{1, 0, 65, 65}));
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{2, 0, 65, 65}));
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{3, 59, 6, 6}));
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{4, 59, 6, 6}));
}

// A row that is scored with fewer alternatives is not waited for.
TEST_F(PromptScores, OnlyARowThatComputesEnoughAlternativesIsWaitedFor) {
  BatchScheduler scheduler(limits());
  add(scheduler, 1, 60, 5, 1);
  add(scheduler, 2, 60, 5, 5);
  add(scheduler, 3, 60, 5, 3);
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{1, 0, 65, 65}, Brings{2, 0, 65, 65}));
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{3, 59, 6, 6}));
}

TEST_F(PromptScores, WhereOnlyEndsAreSharedTheFirstRowStopsBeforeWhereTheOthersLeaveIt) {
  BatchScheduler scheduler(limits(Sharing::kExactEnd));
  for (uint64_t row = 1; row <= 3; ++row)
    add(scheduler, row, 60, 5);
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{1, 0, 59, 59}));
  EXPECT_THAT(run(scheduler),
              ElementsAre(Brings{1, 59, 6, 6}, Brings{2, 59, 6, 6}, Brings{3, 59, 6, 6}));
  EXPECT_THAT(run(scheduler), IsEmpty());
  EXPECT_EQ(scheduler.counts().cells_used, 0);
}

TEST_F(PromptScores, WhereNothingCanBeSharedEveryRowIsScoredOnItsOwn) {
  BatchScheduler scheduler(limits(Sharing::kNothing));
  add(scheduler, 1, 60, 5);
  add(scheduler, 2, 60, 5);
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{1, 0, 65, 65}, Brings{2, 0, 65, 65}));
}

// The row that has the scores is preempted and goes on where it was: what it computes again is
// scored again, for later rows.
TEST_F(PromptScores, APreemptedRowIsNotScoredTwiceButItsScoresAreKeptAgain) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange, 2));
  add(scheduler, 1, 0, 5, std::nullopt);
  add(scheduler, 2, 60, 5);
  EXPECT_THAT(run(scheduler, 45), ElementsAre(Brings{1, 0, 5, 1}, Brings{2, 0, 40, 40}));
  add(scheduler, 3, 60, 5);
  const ScheduledStep step = scheduler.next(10);
  ASSERT_EQ(step.slices.size(), 1U);
  EXPECT_TRUE(scheduler.step_failed(step));
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{2, 0, 65, 25}));
  EXPECT_THAT(run(scheduler), ElementsAre(Brings{3, 59, 6, 6}));
}

}  // namespace
}  // namespace windrow::engine
