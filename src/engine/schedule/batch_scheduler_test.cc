#include "engine/schedule/batch_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "engine/testing/slice_matcher.h"

namespace windrow::engine {
namespace {

using ::testing::ElementsAre;
using testing::slice;

class BatchSchedulerTest : public ::testing::Test {
 protected:
  static SchedulerLimits limits(int32_t cells_max, int32_t sequences_max, int32_t step_tokens_max) {
    return {.cells_max = cells_max,
            .rows_max = sequences_max,
            .sequences_max = sequences_max,
            .step_tokens_max = step_tokens_max,
            .step_outputs_max = sequences_max};
  }

  // A row that wants an answer, and scores of its prompt from a token on.
  void add(BatchScheduler& scheduler, uint64_t row, int32_t prompt_tokens,
           int32_t output_tokens_max, std::optional<Position> outputs_from = std::nullopt) {
    std::vector<Token>& tokens = known_[row];
    tokens.clear();
    while (tokens.size() < static_cast<size_t>(prompt_tokens))
      tokens.push_back(static_cast<Token>(row * 1000 + tokens.size()));
    scheduler.add({.id = RowId(row),
                   .tokens = &tokens,
                   .prompt_tokens = prompt_tokens,
                   .output_tokens_max = output_tokens_max,
                   .outputs_from = outputs_from.value_or(prompt_tokens - 1)});
  }

  // Runs the next step and extends every row whose last known token it computed.
  ScheduledStep run(BatchScheduler& scheduler, int32_t prefill_tokens_max = 100) {
    ScheduledStep step = scheduler.next(prefill_tokens_max);
    scheduler.step_ran(step);
    for (const Slice& done : step.slices) {
      std::vector<Token>& tokens = known_.at(done.row.value());
      if (done.first + done.tokens_count < static_cast<Position>(tokens.size())) continue;
      tokens.push_back(-1 - static_cast<Token>(done.row.value()));
      scheduler.extend(done.row);
    }
    return step;
  }

 private:
  std::map<uint64_t, std::vector<Token>> known_;
};

// Two rows that decode; row 1 then knows three tokens more.
class ScheduledRunTest : public BatchSchedulerTest {
 protected:
  explicit ScheduledRunTest() {
    for (const uint64_t row : {uint64_t{1}, uint64_t{2}}) {
      tokens_[row].assign(4, static_cast<Token>(row));
      tokens_[row].resize(40);
    }
  }

  void begin(BatchScheduler& scheduler) {
    for (const auto& [row, tokens] : tokens_) {
      scheduler.add({.id = RowId(row),
                     .tokens = &tokens,
                     .prompt_tokens = 4,
                     .output_tokens_max = 30,
                     .outputs_from = 3});
    }
    for (int prefills = 0; prefills < 2 && scheduler.counts().cells_used < 8; ++prefills)
      scheduler.step_ran(scheduler.next(100));
  }

  static std::vector<Slice> run(BatchScheduler& scheduler) {
    const ScheduledStep step = scheduler.next(100);
    scheduler.step_ran(step);
    return step.slices;
  }

  std::map<uint64_t, std::vector<Token>> tokens_;
};

TEST_F(ScheduledRunTest, ARunIsComputedAtOnceBesideTheOthers) {
  BatchScheduler scheduler(limits(100, 4, 50));
  begin(scheduler);
  scheduler.extend(RowId(1), 3);
  scheduler.extend(RowId(2));
  EXPECT_THAT(run(scheduler), ElementsAre(slice(1, 4, 3, 1), slice(2, 4, 1, 1)));
  scheduler.extend(RowId(1), 3, true);
  scheduler.extend(RowId(2));
  EXPECT_THAT(run(scheduler), ElementsAre(slice(1, 7, 3, 3), slice(2, 5, 1, 1)));
}

TEST_F(ScheduledRunTest, ARunLeavesRoomForEveryRowThatDecodes) {
  BatchScheduler scheduler(limits(100, 2, 3));
  begin(scheduler);
  scheduler.step_ran(scheduler.next(100));
  scheduler.extend(RowId(1), 3);
  scheduler.extend(RowId(2));
  EXPECT_THAT(run(scheduler), ElementsAre(slice(1, 4, 2, 0), slice(2, 4, 1, 1)));
}

TEST_F(ScheduledRunTest, ARowWithoutATokenToComputeDoesNotHoldTheOthers) {
  BatchScheduler scheduler(limits(100, 4, 50));
  begin(scheduler);
  EXPECT_TRUE(scheduler.next(100).slices.empty()) << "nobody has named a token";
  EXPECT_EQ(scheduler.counts().preemptions, 0);
  scheduler.extend(RowId(2));
  EXPECT_THAT(run(scheduler), ElementsAre(slice(2, 4, 1, 1)));
  scheduler.extend(RowId(1), 2);
  EXPECT_THAT(run(scheduler), ElementsAre(slice(1, 4, 2, 1)));
}

// A pass over one row costs as much as one over all of them.
TEST_F(ScheduledRunTest, InASplitCacheARunIsComputedTheWayThatIsLessWork) {
  SchedulerLimits split = limits(100, 4, 50);
  split.mixes = false;
  BatchScheduler scheduler(split);
  begin(scheduler);
  scheduler.extend(RowId(1), 2);
  scheduler.extend(RowId(2));
  EXPECT_THAT(run(scheduler), ElementsAre(slice(1, 4, 1, 0), slice(2, 4, 1, 1)));
  scheduler.extend(RowId(2));
  EXPECT_THAT(run(scheduler), ElementsAre(slice(1, 5, 1, 1), slice(2, 5, 1, 1)));
  scheduler.extend(RowId(1), 3);
  scheduler.extend(RowId(2));
  EXPECT_THAT(run(scheduler), ElementsAre(slice(1, 6, 3, 1))) << "longer than there are rows";
  scheduler.extend(RowId(1));
  EXPECT_THAT(run(scheduler), ElementsAre(slice(1, 9, 1, 1), slice(2, 6, 1, 1)));
}

TEST_F(BatchSchedulerTest, APromptIsPrefilledThenDecodedTokenByToken) {
  BatchScheduler scheduler(limits(100, 4, 50));
  add(scheduler, 1, 10, 5);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 0, 10, 1)));
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 10, 1, 1)));
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 11, 1, 1)));
  scheduler.remove(RowId(1));
  EXPECT_TRUE(scheduler.next(100).slices.empty());
  EXPECT_EQ(scheduler.counts().cells_used, 0);
}

TEST_F(BatchSchedulerTest, ALongPromptIsCutIntoChunks) {
  BatchScheduler scheduler(limits(100, 4, 50));
  add(scheduler, 1, 25, 5);
  EXPECT_THAT(run(scheduler, 10).slices, ElementsAre(slice(1, 0, 10, 0)));
  EXPECT_THAT(run(scheduler, 10).slices, ElementsAre(slice(1, 10, 10, 0)));
  EXPECT_THAT(run(scheduler, 10).slices, ElementsAre(slice(1, 20, 5, 1)));
}

TEST_F(BatchSchedulerTest, DecodingRowsComeFirstAndPrefillFillsTheStep) {
  BatchScheduler scheduler(limits(100, 4, 50));
  add(scheduler, 1, 4, 5);
  run(scheduler);
  add(scheduler, 2, 30, 5);
  add(scheduler, 3, 6, 5);
  EXPECT_THAT(run(scheduler, 32).slices,
              ElementsAre(slice(1, 4, 1, 1), slice(2, 0, 26, 0), slice(3, 0, 6, 1)));
  EXPECT_THAT(run(scheduler, 32).slices,
              ElementsAre(slice(1, 5, 1, 1), slice(3, 6, 1, 1), slice(2, 26, 4, 1)));
}

TEST_F(BatchSchedulerTest, AStepNeverExceedsItsTokens) {
  BatchScheduler scheduler(limits(100, 2, 8));
  add(scheduler, 1, 20, 5);
  EXPECT_THAT(run(scheduler, 100).slices, ElementsAre(slice(1, 0, 8, 0)));
}

TEST_F(BatchSchedulerTest, RowsWaitForASequenceInOrder) {
  BatchScheduler scheduler(limits(100, 1, 50));
  add(scheduler, 1, 3, 5);
  add(scheduler, 2, 3, 5);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 0, 3, 1)));
  EXPECT_EQ(scheduler.counts().rows_waiting, 1);
  scheduler.remove(RowId(1));
  const ScheduledStep step = run(scheduler);
  EXPECT_THAT(step.slices, ElementsAre(slice(2, 0, 3, 1)));
  ASSERT_EQ(step.changes.size(), 1U);
  EXPECT_EQ(step.changes[0].sequence, SequenceId(0));
  EXPECT_EQ(step.changes[0].tokens, 0);
}

TEST_F(BatchSchedulerTest, ARowThatDoesNotFitBesideTheOthersWaits) {
  BatchScheduler scheduler(limits(100, 4, 100));
  add(scheduler, 1, 60, 10);
  add(scheduler, 2, 60, 10);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 0, 60, 1)));
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 60, 1, 1)));
}

TEST_F(BatchSchedulerTest, WhenCellsRunOutTheYoungestIsComputedAgainLater) {
  BatchScheduler scheduler(limits(90, 2, 90));
  add(scheduler, 1, 20, 70);
  add(scheduler, 2, 20, 70);
  run(scheduler);
  ASSERT_EQ(scheduler.counts().rows_running, 1) << "64 tokens each are expected of an answer";
  scheduler.remove(RowId(1));
  scheduler.remove(RowId(2));
  // Many short answers teach it to expect less; then two long ones surprise it.
  for (uint64_t row = 10; row < 200; ++row) {
    add(scheduler, row, 1, 2);
    run(scheduler);
    scheduler.remove(RowId(row));
  }
  add(scheduler, 1, 20, 70);
  add(scheduler, 2, 20, 70);
  run(scheduler);
  ASSERT_EQ(scheduler.counts().rows_running, 2);
  while (scheduler.counts().preemptions == 0)
    run(scheduler);
  EXPECT_EQ(scheduler.counts().rows_running, 1);
  EXPECT_EQ(scheduler.counts().rows_waiting, 1);
  // 20 + 25 tokens each filled the 90 cells; the first goes on.
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 46, 1, 1)));
  scheduler.remove(RowId(1));
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(2, 0, 46, 1)));
  EXPECT_EQ(scheduler.counts().recomputed_tokens, 45);
}

TEST_F(BatchSchedulerTest, WhereChunksAndDecodingDoNotMixAStepIsOneOrTheOther) {
  SchedulerLimits split = limits(200, 4, 100);
  split.mixes = false;
  BatchScheduler scheduler(split);
  add(scheduler, 1, 30, 5);
  add(scheduler, 2, 20, 5);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 0, 30, 1)));
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(2, 0, 20, 1)));
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 30, 1, 1), slice(2, 20, 1, 1)));
  scheduler.remove(RowId(1));
  add(scheduler, 3, 10, 5);
  const ScheduledStep prefill = run(scheduler);
  EXPECT_THAT(prefill.slices, ElementsAre(slice(3, 0, 10, 1)));
  EXPECT_EQ(prefill.slices[0].sequence, SequenceId(0));
  // By sequence, not by age.
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(3, 10, 1, 1), slice(2, 21, 1, 1)));
}

TEST_F(BatchSchedulerTest, AFailedStepIsTriedAgainRowByRow) {
  BatchScheduler scheduler(limits(100, 4, 100));
  add(scheduler, 1, 5, 9);
  add(scheduler, 2, 6, 9);
  const ScheduledStep both = scheduler.next(100);
  ASSERT_EQ(both.slices.size(), 2U);
  EXPECT_FALSE(scheduler.step_failed(both));
  const ScheduledStep first = scheduler.next(100);
  EXPECT_THAT(first.slices, ElementsAre(slice(1, 0, 5, 1)));
  EXPECT_EQ(first.changes.size(), 2U);
  EXPECT_TRUE(scheduler.step_failed(first));
  scheduler.remove(RowId(1));
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(2, 0, 6, 1)));
  add(scheduler, 3, 2, 9);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(2, 6, 1, 1), slice(3, 0, 2, 1)));
}

TEST_F(BatchSchedulerTest, WithoutSpaceTheYoungestIsPreemptedUnlessItIsTheOnlyOne) {
  BatchScheduler scheduler(limits(100, 4, 100));
  add(scheduler, 1, 5, 9);
  add(scheduler, 2, 6, 9);
  const ScheduledStep both = scheduler.next(100);
  ASSERT_EQ(both.slices.size(), 2U);
  EXPECT_TRUE(scheduler.step_had_no_space(both));
  EXPECT_EQ(scheduler.counts().rows_running, 1);
  EXPECT_FALSE(scheduler.step_had_no_space(scheduler.next(100)));
}

// Preempting the suspect itself would give the same step again and again.
TEST_F(BatchSchedulerTest, WithoutSpaceForASuspectAnotherRowIsPreempted) {
  BatchScheduler scheduler(limits(100, 4, 100));
  add(scheduler, 1, 5, 9);
  add(scheduler, 2, 6, 9);
  EXPECT_FALSE(scheduler.step_failed(scheduler.next(100)));
  run(scheduler);  // the first is past it
  const ScheduledStep suspect = scheduler.next(100);
  EXPECT_THAT(suspect.slices, ElementsAre(slice(2, 0, 6, 1)));
  ASSERT_EQ(scheduler.counts().rows_running, 2);
  EXPECT_TRUE(scheduler.step_had_no_space(suspect));
  const ScheduledStep again = scheduler.next(100);
  EXPECT_THAT(again.slices, ElementsAre(slice(2, 0, 6, 1)));
  EXPECT_EQ(scheduler.counts().rows_running, 1);
  EXPECT_FALSE(scheduler.step_had_no_space(again));
}

TEST_F(BatchSchedulerTest, APromptThatIsScoredIsCutWhereItsOutputsEnd) {
  SchedulerLimits few = limits(100, 3, 50);
  few.step_outputs_max = 6;
  BatchScheduler scheduler(few);
  add(scheduler, 1, 4, 5);
  run(scheduler);
  add(scheduler, 2, 12, 5, 0);
  add(scheduler, 3, 9, 5, 7);
  // The row that decodes has its output first; of the others the oldest has half, the shortest the
  // rest.
  EXPECT_THAT(run(scheduler).slices,
              ElementsAre(slice(1, 4, 1, 1), slice(2, 0, 3, 3), slice(3, 0, 9, 2)));
  EXPECT_THAT(run(scheduler).slices,
              ElementsAre(slice(1, 5, 1, 1), slice(3, 9, 1, 1), slice(2, 3, 4, 4)));
  EXPECT_THAT(run(scheduler).slices,
              ElementsAre(slice(1, 6, 1, 1), slice(3, 10, 1, 1), slice(2, 7, 4, 4)));
}

TEST_F(BatchSchedulerTest, ScoresAreNotHandedOutAgainAfterAPreemption) {
  SchedulerLimits few = limits(100, 2, 50);
  few.step_outputs_max = 4;
  BatchScheduler scheduler(few);
  add(scheduler, 1, 3, 5);
  add(scheduler, 2, 10, 5, 0);
  EXPECT_THAT(run(scheduler, 6).slices, ElementsAre(slice(1, 0, 3, 1), slice(2, 0, 3, 3)));
  ASSERT_TRUE(scheduler.step_had_no_space(scheduler.next(6)));
  scheduler.remove(RowId(1));
  EXPECT_THAT(scheduler.next(100).slices, ElementsAre(slice(2, 0, 7, 4)));
}

}  // namespace
}  // namespace windrow::engine
