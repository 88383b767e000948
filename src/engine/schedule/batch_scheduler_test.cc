#include "engine/schedule/batch_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "base/random.h"

namespace windrow::engine {
namespace {

using ::testing::ElementsAre;

// A slice as a test reads it: row, first token, tokens, outputs.
struct Want {
  uint64_t row;
  Position first;
  int32_t tokens_count;
  int32_t outputs_count;
};

MATCHER_P(IsSlice, want, "") {
  return arg.row == RowId(want.row) && arg.first == want.first &&
         arg.tokens_count == want.tokens_count && arg.outputs_count == want.outputs_count;
}

auto slice(uint64_t row, Position first, int32_t tokens_count, int32_t outputs_count) {
  return IsSlice(Want{row, first, tokens_count, outputs_count});
}

class PlanTest : public ::testing::Test {
 protected:
  static PlanLimits limits(int32_t cells_max, int32_t sequences_max, int32_t step_tokens_max) {
    return {.cells_max = cells_max,
            .rows_max = sequences_max,
            .sequences_max = sequences_max,
            .step_tokens_max = step_tokens_max,
            .step_outputs_max = sequences_max};
  }

  // A row that wants an answer, and scores of its prompt from a token on.
  void add(BatchScheduler& plan, uint64_t row, int32_t prompt_tokens, int32_t output_tokens_max,
           std::optional<Position> outputs_from = std::nullopt) {
    std::vector<Token>& tokens = known_[row];
    tokens.clear();
    while (tokens.size() < static_cast<size_t>(prompt_tokens))
      tokens.push_back(static_cast<Token>(row * 1000 + tokens.size()));
    plan.add({.id = RowId(row),
              .tokens = &tokens,
              .prompt_tokens = prompt_tokens,
              .output_tokens_max = output_tokens_max,
              .outputs_from = outputs_from.value_or(prompt_tokens - 1)});
  }

  // Runs the next step and extends every row whose last known token it computed.
  ScheduledStep run(BatchScheduler& plan, int32_t prefill_tokens_max = 100) {
    ScheduledStep step = plan.next(prefill_tokens_max);
    plan.step_ran(step);
    for (const Slice& done : step.slices) {
      std::vector<Token>& tokens = known_.at(done.row.value());
      if (done.first + done.tokens_count < static_cast<Position>(tokens.size())) continue;
      tokens.push_back(-1 - static_cast<Token>(done.row.value()));
      plan.extend(done.row);
    }
    return step;
  }

 private:
  std::map<uint64_t, std::vector<Token>> known_;
};

// Two rows that decode; row 1 then knows three tokens more.
class PlanRunTest : public PlanTest {
 protected:
  explicit PlanRunTest() {
    for (const uint64_t row : {uint64_t{1}, uint64_t{2}}) {
      tokens_[row].assign(4, static_cast<Token>(row));
      tokens_[row].resize(40);
    }
  }

  void begin(BatchScheduler& plan) {
    for (const auto& [row, tokens] : tokens_) {
      plan.add({.id = RowId(row),
                .tokens = &tokens,
                .prompt_tokens = 4,
                .output_tokens_max = 30,
                .outputs_from = 3});
    }
    for (int prefills = 0; prefills < 2 && plan.counts().cells_used < 8; ++prefills)
      plan.step_ran(plan.next(100));
  }

  static std::vector<Slice> run(BatchScheduler& plan) {
    const ScheduledStep step = plan.next(100);
    plan.step_ran(step);
    return step.slices;
  }

  std::map<uint64_t, std::vector<Token>> tokens_;
};

TEST_F(PlanRunTest, ARunIsComputedAtOnceBesideTheOthers) {
  BatchScheduler plan(limits(100, 4, 50));
  begin(plan);
  plan.extend(RowId(1), 3);
  plan.extend(RowId(2));
  EXPECT_THAT(run(plan), ElementsAre(slice(1, 4, 3, 1), slice(2, 4, 1, 1)));
  plan.extend(RowId(1), 3, true);
  plan.extend(RowId(2));
  EXPECT_THAT(run(plan), ElementsAre(slice(1, 7, 3, 3), slice(2, 5, 1, 1)));
}

TEST_F(PlanRunTest, ARunLeavesRoomForEveryRowThatDecodes) {
  BatchScheduler plan(limits(100, 2, 3));
  begin(plan);
  plan.step_ran(plan.next(100));
  plan.extend(RowId(1), 3);
  plan.extend(RowId(2));
  EXPECT_THAT(run(plan), ElementsAre(slice(1, 4, 2, 0), slice(2, 4, 1, 1)));
}

TEST_F(PlanRunTest, ARowWithoutATokenToComputeHoldsNobody) {
  BatchScheduler plan(limits(100, 4, 50));
  begin(plan);
  EXPECT_TRUE(plan.next(100).slices.empty()) << "nobody has named a token";
  EXPECT_EQ(plan.counts().preemptions, 0);
  plan.extend(RowId(2));
  EXPECT_THAT(run(plan), ElementsAre(slice(2, 4, 1, 1)));
  plan.extend(RowId(1), 2);
  EXPECT_THAT(run(plan), ElementsAre(slice(1, 4, 2, 1)));
}

// A pass over one row costs as much as one over all of them.
TEST_F(PlanRunTest, InASplitCacheARunGoesTheWayThatIsLessWork) {
  PlanLimits split = limits(100, 4, 50);
  split.mixes = false;
  BatchScheduler plan(split);
  begin(plan);
  plan.extend(RowId(1), 2);
  plan.extend(RowId(2));
  EXPECT_THAT(run(plan), ElementsAre(slice(1, 4, 1, 0), slice(2, 4, 1, 1)));
  plan.extend(RowId(2));
  EXPECT_THAT(run(plan), ElementsAre(slice(1, 5, 1, 1), slice(2, 5, 1, 1)));
  plan.extend(RowId(1), 3);
  plan.extend(RowId(2));
  EXPECT_THAT(run(plan), ElementsAre(slice(1, 6, 3, 1))) << "longer than there are rows";
  plan.extend(RowId(1));
  EXPECT_THAT(run(plan), ElementsAre(slice(1, 9, 1, 1), slice(2, 6, 1, 1)));
}

TEST_F(PlanTest, APromptIsPrefilledThenDecodedTokenByToken) {
  BatchScheduler plan(limits(100, 4, 50));
  add(plan, 1, 10, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 10, 1)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 10, 1, 1)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 11, 1, 1)));
  plan.remove(RowId(1));
  EXPECT_TRUE(plan.next(100).slices.empty());
  EXPECT_EQ(plan.counts().cells_used, 0);
}

TEST_F(PlanTest, ALongPromptIsCutIntoChunks) {
  BatchScheduler plan(limits(100, 4, 50));
  add(plan, 1, 25, 5);
  EXPECT_THAT(run(plan, 10).slices, ElementsAre(slice(1, 0, 10, 0)));
  EXPECT_THAT(run(plan, 10).slices, ElementsAre(slice(1, 10, 10, 0)));
  EXPECT_THAT(run(plan, 10).slices, ElementsAre(slice(1, 20, 5, 1)));
}

TEST_F(PlanTest, DecodingRowsComeFirstAndPrefillFillsTheStep) {
  BatchScheduler plan(limits(100, 4, 50));
  add(plan, 1, 4, 5);
  run(plan);
  add(plan, 2, 30, 5);
  add(plan, 3, 6, 5);
  EXPECT_THAT(run(plan, 32).slices,
              ElementsAre(slice(1, 4, 1, 1), slice(2, 0, 26, 0), slice(3, 0, 6, 1)));
  EXPECT_THAT(run(plan, 32).slices,
              ElementsAre(slice(1, 5, 1, 1), slice(3, 6, 1, 1), slice(2, 26, 4, 1)));
}

TEST_F(PlanTest, AStepNeverExceedsItsTokens) {
  BatchScheduler plan(limits(100, 2, 8));
  add(plan, 1, 20, 5);
  EXPECT_THAT(run(plan, 100).slices, ElementsAre(slice(1, 0, 8, 0)));
}

TEST_F(PlanTest, RowsWaitForASequenceInOrder) {
  BatchScheduler plan(limits(100, 1, 50));
  add(plan, 1, 3, 5);
  add(plan, 2, 3, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 3, 1)));
  EXPECT_EQ(plan.counts().rows_waiting, 1);
  plan.remove(RowId(1));
  const ScheduledStep step = run(plan);
  EXPECT_THAT(step.slices, ElementsAre(slice(2, 0, 3, 1)));
  ASSERT_EQ(step.changes.size(), 1U);
  EXPECT_EQ(step.changes[0].sequence, SequenceId(0));
  EXPECT_EQ(step.changes[0].tokens, 0);
}

TEST_F(PlanTest, ARowThatDoesNotFitBesideTheOthersWaits) {
  BatchScheduler plan(limits(100, 4, 100));
  add(plan, 1, 60, 10);
  add(plan, 2, 60, 10);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 60, 1)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 60, 1, 1)));
}

TEST_F(PlanTest, WhenCellsEndTheYoungestIsComputedAgainLater) {
  BatchScheduler plan(limits(90, 2, 90));
  add(plan, 1, 20, 70);
  add(plan, 2, 20, 70);
  run(plan);
  ASSERT_EQ(plan.counts().rows_running, 1) << "64 tokens each are expected of an answer";
  plan.remove(RowId(1));
  plan.remove(RowId(2));
  // Many short answers teach it to expect less; then two long ones surprise it.
  for (uint64_t row = 10; row < 200; ++row) {
    add(plan, row, 1, 2);
    run(plan);
    plan.remove(RowId(row));
  }
  add(plan, 1, 20, 70);
  add(plan, 2, 20, 70);
  run(plan);
  ASSERT_EQ(plan.counts().rows_running, 2);
  while (plan.counts().preemptions == 0)
    run(plan);
  EXPECT_EQ(plan.counts().rows_running, 1);
  EXPECT_EQ(plan.counts().rows_waiting, 1);
  // 20 + 25 tokens each filled the 90 cells; the first goes on.
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 46, 1, 1)));
  plan.remove(RowId(1));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 0, 46, 1)));
  EXPECT_EQ(plan.counts().recomputed_tokens, 45);
}

TEST_F(PlanTest, WhereChunksAndDecodingDoNotMixAStepIsOneOrTheOther) {
  PlanLimits split = limits(200, 4, 100);
  split.mixes = false;
  BatchScheduler plan(split);
  add(plan, 1, 30, 5);
  add(plan, 2, 20, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 30, 1)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 0, 20, 1)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 30, 1, 1), slice(2, 20, 1, 1)));
  plan.remove(RowId(1));
  add(plan, 3, 10, 5);
  const ScheduledStep prefill = run(plan);
  EXPECT_THAT(prefill.slices, ElementsAre(slice(3, 0, 10, 1)));
  EXPECT_EQ(prefill.slices[0].sequence, SequenceId(0));
  // By sequence, not by age.
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(3, 10, 1, 1), slice(2, 21, 1, 1)));
}

TEST_F(PlanTest, AFailedStepIsTriedAgainRowByRow) {
  BatchScheduler plan(limits(100, 4, 100));
  add(plan, 1, 5, 9);
  add(plan, 2, 6, 9);
  const ScheduledStep both = plan.next(100);
  ASSERT_EQ(both.slices.size(), 2U);
  EXPECT_FALSE(plan.step_failed(both));
  const ScheduledStep first = plan.next(100);
  EXPECT_THAT(first.slices, ElementsAre(slice(1, 0, 5, 1)));
  EXPECT_EQ(first.changes.size(), 2U);
  EXPECT_TRUE(plan.step_failed(first));
  plan.remove(RowId(1));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 0, 6, 1)));
  add(plan, 3, 2, 9);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 6, 1, 1), slice(3, 0, 2, 1)));
}

TEST_F(PlanTest, WithoutSpaceTheYoungestGivesWayUnlessItIsTheOnlyOne) {
  BatchScheduler plan(limits(100, 4, 100));
  add(plan, 1, 5, 9);
  add(plan, 2, 6, 9);
  const ScheduledStep both = plan.next(100);
  ASSERT_EQ(both.slices.size(), 2U);
  EXPECT_TRUE(plan.step_had_no_space(both));
  EXPECT_EQ(plan.counts().rows_running, 1);
  EXPECT_FALSE(plan.step_had_no_space(plan.next(100)));
}

// Preempting the suspect itself would give the same step again, for ever.
TEST_F(PlanTest, WithoutSpaceForASuspectTheOthersGiveWay) {
  BatchScheduler plan(limits(100, 4, 100));
  add(plan, 1, 5, 9);
  add(plan, 2, 6, 9);
  EXPECT_FALSE(plan.step_failed(plan.next(100)));
  run(plan);  // the first is past it
  const ScheduledStep suspect = plan.next(100);
  EXPECT_THAT(suspect.slices, ElementsAre(slice(2, 0, 6, 1)));
  ASSERT_EQ(plan.counts().rows_running, 2);
  EXPECT_TRUE(plan.step_had_no_space(suspect));
  const ScheduledStep again = plan.next(100);
  EXPECT_THAT(again.slices, ElementsAre(slice(2, 0, 6, 1)));
  EXPECT_EQ(plan.counts().rows_running, 1);
  EXPECT_FALSE(plan.step_had_no_space(again));
}

TEST_F(PlanTest, APromptThatIsScoredIsCutWhereItsOutputsEnd) {
  PlanLimits few = limits(100, 3, 50);
  few.step_outputs_max = 6;
  BatchScheduler plan(few);
  add(plan, 1, 4, 5);
  run(plan);
  add(plan, 2, 12, 5, 0);
  add(plan, 3, 9, 5, 7);
  // The row that decodes has its output first; of the others the oldest has half, the shortest the
  // rest.
  EXPECT_THAT(run(plan).slices,
              ElementsAre(slice(1, 4, 1, 1), slice(2, 0, 3, 3), slice(3, 0, 9, 2)));
  EXPECT_THAT(run(plan).slices,
              ElementsAre(slice(1, 5, 1, 1), slice(3, 9, 1, 1), slice(2, 3, 4, 4)));
  EXPECT_THAT(run(plan).slices,
              ElementsAre(slice(1, 6, 1, 1), slice(3, 10, 1, 1), slice(2, 7, 4, 4)));
}

TEST_F(PlanTest, ScoresAreNotHandedOutAgainAfterAPreemption) {
  PlanLimits few = limits(100, 2, 50);
  few.step_outputs_max = 4;
  BatchScheduler plan(few);
  add(plan, 1, 3, 5);
  add(plan, 2, 10, 5, 0);
  EXPECT_THAT(run(plan, 6).slices, ElementsAre(slice(1, 0, 3, 1), slice(2, 0, 3, 3)));
  ASSERT_TRUE(plan.step_had_no_space(plan.next(6)));
  plan.remove(RowId(1));
  EXPECT_THAT(plan.next(100).slices, ElementsAre(slice(2, 0, 7, 4)));
}

class SharingTest : public ::testing::Test {
 protected:
  static PlanLimits limits(Sharing sharing, int32_t rows_max = 4, int32_t cells_max = 1000) {
    return {.cells_max = cells_max,
            .rows_max = rows_max,
            .sequences_max = rows_max + 4,
            .step_tokens_max = 100,
            .step_outputs_max = rows_max,
            .sharing = sharing};
  }

  // `shared` tokens that all rows of a group begin with, then its own.
  void add(BatchScheduler& plan, uint64_t row, int32_t group, int32_t shared, int32_t own,
           bool keep = false) {
    std::vector<Token>& tokens = tokens_[row];
    for (int32_t i = 0; i < shared; ++i)
      tokens.push_back(group * 1000 + i);
    for (int32_t i = 0; i < own; ++i)
      tokens.push_back(static_cast<Token>(100'000 + row * 1000) + i);
    plan.add({.id = RowId(row),
              .tokens = &tokens,
              .prompt_tokens = shared + own,
              .output_tokens_max = 50,
              .outputs_from = shared + own - 1,
              .keep = keep});
  }

  ScheduledStep run(BatchScheduler& plan, int32_t prefill_tokens_max = 100) {
    ScheduledStep step = plan.next(prefill_tokens_max);
    plan.step_ran(step);
    for (const Slice& done : step.slices) {
      std::vector<Token>& tokens = tokens_.at(done.row.value());
      if (done.first + done.tokens_count < static_cast<Position>(tokens.size())) continue;
      tokens.push_back(static_cast<Token>(900'000 + done.row.value()));
      plan.extend(done.row);
    }
    return step;
  }

 private:
  std::map<uint64_t, std::vector<Token>> tokens_;
};

TEST_F(SharingTest, AColdPrefixIsComputedByOneWhileTheOthersWait) {
  BatchScheduler plan(limits(Sharing::kAnyRange));
  for (uint64_t row = 1; row <= 3; ++row)
    add(plan, row, 7, 60, 5);
  EXPECT_THAT(run(plan, 40).slices, ElementsAre(slice(1, 0, 40, 0)));
  EXPECT_THAT(run(plan, 40).slices, ElementsAre(slice(1, 40, 25, 1)));
  EXPECT_EQ(plan.counts().rows_running, 3);
  EXPECT_THAT(run(plan, 40).slices,
              ElementsAre(slice(1, 65, 1, 1), slice(2, 60, 5, 1), slice(3, 60, 5, 1)));
  EXPECT_EQ(plan.counts().cells_used, 60 + 6 + 5 + 5);
}

TEST_F(SharingTest, RowsWithAnotherBeginningFillTheStepMeanwhile) {
  BatchScheduler plan(limits(Sharing::kAnyRange));
  add(plan, 1, 7, 60, 5);
  add(plan, 2, 7, 60, 5);
  add(plan, 3, 8, 60, 5);
  EXPECT_THAT(run(plan, 100).slices, ElementsAre(slice(1, 0, 65, 1), slice(3, 0, 35, 0)));
}

TEST_F(SharingTest, AShortCommonBeginningIsNotWaitedForButTakenWhenItIsThere) {
  BatchScheduler plan(limits(Sharing::kAnyRange));
  add(plan, 1, 7, 8, 30);
  add(plan, 2, 7, 8, 30);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 38, 1), slice(2, 0, 38, 1)));
  add(plan, 3, 7, 8, 30);
  EXPECT_THAT(run(plan).slices,
              ElementsAre(slice(1, 38, 1, 1), slice(2, 38, 1, 1), slice(3, 8, 30, 1)));
}

TEST_F(SharingTest, TheLastTokenOfAPromptIsAlwaysComputed) {
  BatchScheduler plan(limits(Sharing::kAnyRange));
  add(plan, 1, 7, 40, 0);
  add(plan, 2, 7, 40, 0);
  run(plan);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 40, 1, 1), slice(2, 39, 1, 1)));
}

TEST_F(SharingTest, WhenTheRowThatComputesAPrefixIsGoneAnotherGoesOn) {
  BatchScheduler plan(limits(Sharing::kAnyRange));
  add(plan, 1, 7, 60, 5);
  add(plan, 2, 7, 60, 5);
  EXPECT_THAT(run(plan, 40).slices, ElementsAre(slice(1, 0, 40, 0)));
  plan.remove(RowId(1));
  EXPECT_THAT(run(plan, 40).slices, ElementsAre(slice(2, 40, 25, 1)));
}

TEST_F(SharingTest, APrefixStaysAsLongAsARowWaitsForIt) {
  BatchScheduler plan(limits(Sharing::kAnyRange, 1));
  add(plan, 1, 7, 60, 5);
  add(plan, 2, 8, 60, 5);
  add(plan, 3, 7, 60, 5);
  run(plan);
  plan.remove(RowId(1));
  EXPECT_EQ(plan.counts().cells_resting, 60);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 0, 65, 1)));
  plan.remove(RowId(2));
  EXPECT_EQ(plan.counts().cells_resting, 60) << "nobody waits for the second";
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(3, 60, 5, 1)));
  plan.remove(RowId(3));
  plan.next(100);
  EXPECT_EQ(plan.counts().cells_used, 0);
}

TEST_F(SharingTest, WhatIsKeptForLaterStaysWithinItsShare) {
  BatchScheduler plan(limits(Sharing::kAnyRange, 1, 10'000));
  for (uint64_t row = 1; row <= 40; ++row) {
    add(plan, row, static_cast<int32_t>(row), 80, 5, true);
    run(plan);
    plan.remove(RowId(row));
    EXPECT_LE(plan.counts().cells_resting, 1024 + 85);
  }
  // A session comes back; most of the oldest were dropped.
  add(plan, 100, 40, 80, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(100, 80, 5, 1)));
  plan.remove(RowId(100));
  add(plan, 101, 1, 80, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(101, 0, 85, 1)));
  plan.remove(RowId(101));
  plan.drop_resting();
  EXPECT_EQ(plan.counts().cells_used, 0);
}

TEST_F(SharingTest, ALongConversationStaysWhileNothingRuns) {
  BatchScheduler plan(limits(Sharing::kAnyRange, 2, 10'000));
  add(plan, 1, 7, 3000, 5, true);
  for (int step = 0; step < 31; ++step)
    run(plan);
  plan.remove(RowId(1));
  plan.next(100);
  EXPECT_EQ(plan.counts().cells_resting, 3005);
  // Others run: it is cut to its share, and what is left of it is found again.
  add(plan, 2, 8, 60, 5);
  run(plan);
  run(plan);
  EXPECT_EQ(plan.counts().cells_resting, 1024);
  add(plan, 3, 7, 3000, 5);
  EXPECT_THAT(run(plan, 50).slices, ElementsAre(slice(2, 66, 1, 1), slice(3, 1024, 50, 0)));
}

// Each row pays for what rests, so beside many less does; what was used last stays.
TEST_F(SharingTest, BesideManyRowsLessRestsAndTheLastChatIsFound) {
  BatchScheduler plan(limits(Sharing::kAnyRange, 9, 10'000));
  for (uint64_t row = 1; row <= 8; ++row)
    add(plan, row, static_cast<int32_t>(row), 40, 5);
  while (plan.counts().cells_used < 8 * 45)
    run(plan);
  for (uint64_t row = 11; row <= 20; ++row) {
    add(plan, row, static_cast<int32_t>(row), 80, 5, true);
    run(plan);
    run(plan);
    plan.remove(RowId(row));
    run(plan);
    EXPECT_LE(plan.counts().cells_resting, 256);
  }
  EXPECT_GE(plan.counts().cells_resting, 85);
  add(plan, 21, 20, 80, 5);
  const ScheduledStep step = run(plan);
  ASSERT_EQ(step.slices.size(), 9u);
  EXPECT_THAT(step.slices.back(), slice(21, 80, 5, 1));
}

TEST_F(SharingTest, PrefixesAtRestGiveWayBeforeRowsDo) {
  BatchScheduler plan(limits(Sharing::kAnyRange, 2, 150));
  add(plan, 1, 7, 80, 5, true);
  run(plan);
  plan.remove(RowId(1));
  ASSERT_EQ(plan.counts().cells_resting, 85);
  add(plan, 2, 8, 80, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 0, 85, 1)));
  EXPECT_EQ(plan.counts().cells_resting, 0);
  EXPECT_EQ(plan.counts().preemptions, 0);
}

TEST_F(SharingTest, WhereOnlyEndsAreSharedTheFirstRowStopsWhereTheOthersLeaveIt) {
  BatchScheduler plan(limits(Sharing::kExactEnd, 2));
  for (uint64_t row = 1; row <= 3; ++row)
    add(plan, row, 7, 60, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 60, 0)));
  // The third row waits for a place: what it shares stays for it.
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 60, 5, 1), slice(2, 60, 5, 1)));
  plan.remove(RowId(1));
  plan.remove(RowId(2));
  EXPECT_EQ(plan.counts().cells_resting, 60);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(3, 60, 5, 1)));
  plan.remove(RowId(3));
  plan.next(100);
  EXPECT_EQ(plan.counts().cells_used, 0);
}

TEST_F(SharingTest, WhereNothingCanBeSharedEveryRowComputesItsOwn) {
  BatchScheduler plan(limits(Sharing::kNothing));
  add(plan, 1, 7, 40, 5);
  add(plan, 2, 7, 40, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 45, 1), slice(2, 0, 45, 1)));
}

// Rows that are over after one token, all of a step at once, and few cells or ids beside the rows':
// each still shares, and no place stays empty.
TEST(ManyShortRows, OfOnePrefixComputeItOnceAndFillTheirPlaces) {
  struct Case {
    const char* name;
    int32_t cells_max;
    int32_t rows_max;
    int32_t sequences_max;
    int32_t prefix;
  };
  for (const Case& one : {Case{"a prefix of half the cells", 16'384, 32, 64, 9000},
                          Case{"a prefix of a tenth", 32'768, 32, 64, 3000},
                          Case{"as many ids as rows", 32'768, 64, 64, 500},
                          Case{"more of everything", 131'072, 32, 64, 9000}}) {
    for (const Sharing sharing : {Sharing::kAnyRange, Sharing::kExactEnd}) {
      SCOPED_TRACE(::testing::Message() << one.name << ", " << to_string(sharing));
      // Its end has to be a path of its own, for which there is no id.
      if (sharing == Sharing::kExactEnd && one.sequences_max == one.rows_max) continue;
      BatchScheduler plan({.cells_max = one.cells_max,
                           .rows_max = one.rows_max,
                           .sequences_max = one.sequences_max,
                           .step_tokens_max = 2048,
                           .step_outputs_max = one.rows_max,
                           .sharing = sharing});
      constexpr int32_t kRows = 640;
      constexpr int32_t kOwn = 20;
      Random random(3);
      std::map<uint64_t, std::vector<Token>> tokens;
      uint64_t next_row = 0;
      int32_t steps = 0;
      int64_t computed = 0;
      while (next_row < kRows || !tokens.empty()) {
        while (next_row < kRows && tokens.size() < 2 * static_cast<size_t>(one.rows_max)) {
          std::vector<Token>& row = tokens[next_row];
          for (int32_t i = 0; i < one.prefix; ++i)
            row.push_back(i);
          // Some agree in the first of their own tokens by chance, which is worth nothing.
          for (int32_t i = 0; i < kOwn; ++i)
            row.push_back(static_cast<Token>(random.below(3)));
          plan.add({.id = RowId(next_row++),
                    .tokens = &row,
                    .prompt_tokens = one.prefix + kOwn,
                    .output_tokens_max = 1,
                    .outputs_from = one.prefix + kOwn - 1});
        }
        const ScheduledStep step = plan.next(2048);
        ASSERT_FALSE(step.slices.empty());
        plan.step_ran(step);
        ++steps;
        for (const Slice& part : step.slices) {
          computed += part.tokens_count;
          if (part.outputs_count == 0) continue;
          plan.remove(part.row);
          tokens.erase(part.row.value());
        }
      }
      const int32_t ideal_steps = kRows / one.rows_max + one.prefix / 2048;
      EXPECT_LE(steps, 1.4 * ideal_steps + 2);
      EXPECT_LE(computed, 1.01 * (one.prefix + kRows * kOwn));
    }
  }
}

// Phase after phase of long rows and short ones, of one prefix and of many, with some that stay on
// when the others have gone: what a step reads stays near what it uses.
TEST(LongJob, AStepReadsLittleMoreThanItUses) {
  Random random(5);
  PlanLimits limits{.cells_max = 60'000,
                    .rows_max = 16,
                    .sequences_max = 32,
                    .step_tokens_max = 2048,
                    .step_outputs_max = 16,
                    .sharing = Sharing::kAnyRange,
                    .compact_cells_max = 30'000};
  BatchScheduler plan(limits);
  std::map<uint64_t, std::vector<Token>> tokens;
  std::map<uint64_t, size_t> ends;
  uint64_t next_row = 0;
  int64_t used = 0;
  int64_t read = 0;
  int far_apart = 0;
  int far_apart_most = 0;
  while (next_row < 3000 || !tokens.empty()) {
    while (next_row < 3000 && tokens.size() < 32) {
      const bool long_phase = (next_row / 100) % 3 == 0;
      const bool stays = random.chance(0.03);
      std::vector<Token>& row = tokens[next_row];
      const auto group = static_cast<Token>(next_row / 20);
      row.assign(long_phase ? 1500 : 60, group);
      for (int64_t own = random.between(5, 80); own > 0; --own)
        row.push_back(static_cast<Token>(random.below(1000)) + 10'000);
      const auto answer = static_cast<int32_t>(stays ? 900 : random.between(1, 40));
      ends[next_row] = row.size() + static_cast<size_t>(answer);
      plan.add({.id = RowId(next_row),
                .tokens = &row,
                .prompt_tokens = static_cast<int32_t>(row.size()),
                .output_tokens_max = answer,
                .outputs_from = static_cast<int32_t>(row.size()) - 1});
      ++next_row;
    }
    const ScheduledStep step = plan.next(500);
    plan.step_ran(step);
    used += plan.counts().cells_used;
    read += plan.counts().cells_end;
    const bool far = plan.counts().cells_end > 2 * plan.counts().cells_used + 1024;
    far_apart = far ? far_apart + 1 : 0;
    far_apart_most = std::max(far_apart_most, far_apart);
    for (const Slice& part : step.slices) {
      std::vector<Token>& row = tokens.at(part.row.value());
      if (part.first + part.tokens_count < std::ssize(row)) continue;
      row.push_back(static_cast<Token>(random.below(1000)) + 20'000);
      if (row.size() == ends.at(part.row.value())) {
        plan.remove(part.row);
        tokens.erase(part.row.value());
      } else {
        plan.extend(part.row);
      }
    }
  }
  EXPECT_LE(far_apart_most, 64);
  EXPECT_LT(static_cast<double>(read), 1.5 * static_cast<double>(used));
}

}  // namespace
}  // namespace windrow::engine
