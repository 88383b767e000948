#include "engine/schedule/prefix_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "base/random.h"
#include "engine/schedule/batch_scheduler.h"
#include "engine/testing/slice_matcher.h"

namespace windrow::engine {
namespace {

using ::testing::ElementsAre;
using testing::slice;

class PrefixSharingTest : public ::testing::Test {
 protected:
  static SchedulerLimits limits(Sharing sharing, int32_t rows_max = 4, int32_t cells_max = 1000) {
    return {.cells_max = cells_max,
            .rows_max = rows_max,
            .sequences_max = rows_max + 4,
            .step_tokens_max = 100,
            .step_outputs_max = rows_max,
            .sharing = sharing};
  }

  // `shared` tokens that all rows of a group begin with, then its own.
  void add(BatchScheduler& scheduler, uint64_t row, int32_t group, int32_t shared, int32_t own,
           bool keep = false) {
    std::vector<Token>& tokens = tokens_[row];
    for (int32_t i = 0; i < shared; ++i)
      tokens.push_back(group * 1000 + i);
    for (int32_t i = 0; i < own; ++i)
      tokens.push_back(static_cast<Token>(100'000 + row * 1000) + i);
    scheduler.add({.id = RowId(row),
                   .tokens = &tokens,
                   .prompt_tokens = shared + own,
                   .output_tokens_max = 50,
                   .outputs_from = shared + own - 1,
                   .keep = keep});
  }

  ScheduledStep run(BatchScheduler& scheduler, int32_t prefill_tokens_max = 100) {
    ScheduledStep step = scheduler.next(prefill_tokens_max);
    scheduler.step_ran(step);
    for (const Slice& done : step.slices) {
      std::vector<Token>& tokens = tokens_.at(done.row.value());
      if (done.first + done.tokens_count < static_cast<Position>(tokens.size())) continue;
      tokens.push_back(static_cast<Token>(900'000 + done.row.value()));
      scheduler.extend(done.row);
    }
    return step;
  }

 private:
  std::map<uint64_t, std::vector<Token>> tokens_;
};

TEST_F(PrefixSharingTest, AColdPrefixIsComputedByOneWhileTheOthersWait) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange));
  for (uint64_t row = 1; row <= 3; ++row)
    add(scheduler, row, 7, 60, 5);
  EXPECT_THAT(run(scheduler, 40).slices, ElementsAre(slice(1, 0, 40, 0)));
  EXPECT_THAT(run(scheduler, 40).slices, ElementsAre(slice(1, 40, 25, 1)));
  EXPECT_EQ(scheduler.counts().rows_running, 3);
  EXPECT_THAT(run(scheduler, 40).slices,
              ElementsAre(slice(1, 65, 1, 1), slice(2, 60, 5, 1), slice(3, 60, 5, 1)));
  EXPECT_EQ(scheduler.counts().cells_used, 60 + 6 + 5 + 5);
}

TEST_F(PrefixSharingTest, RowsWithAnotherPrefixFillTheStepMeanwhile) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange));
  add(scheduler, 1, 7, 60, 5);
  add(scheduler, 2, 7, 60, 5);
  add(scheduler, 3, 8, 60, 5);
  EXPECT_THAT(run(scheduler, 100).slices, ElementsAre(slice(1, 0, 65, 1), slice(3, 0, 35, 0)));
}

TEST_F(PrefixSharingTest, AShortCommonPrefixIsNotWaitedForButSharedWhenItIsComputed) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange));
  add(scheduler, 1, 7, 8, 30);
  add(scheduler, 2, 7, 8, 30);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 0, 38, 1), slice(2, 0, 38, 1)));
  add(scheduler, 3, 7, 8, 30);
  EXPECT_THAT(run(scheduler).slices,
              ElementsAre(slice(1, 38, 1, 1), slice(2, 38, 1, 1), slice(3, 8, 30, 1)));
}

TEST_F(PrefixSharingTest, TheLastTokenOfAPromptIsAlwaysComputed) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange));
  add(scheduler, 1, 7, 40, 0);
  add(scheduler, 2, 7, 40, 0);
  run(scheduler);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 40, 1, 1), slice(2, 39, 1, 1)));
}

TEST_F(PrefixSharingTest, WhenTheRowThatComputesAPrefixIsGoneAnotherGoesOn) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange));
  add(scheduler, 1, 7, 60, 5);
  add(scheduler, 2, 7, 60, 5);
  EXPECT_THAT(run(scheduler, 40).slices, ElementsAre(slice(1, 0, 40, 0)));
  scheduler.remove(RowId(1));
  EXPECT_THAT(run(scheduler, 40).slices, ElementsAre(slice(2, 40, 25, 1)));
}

TEST_F(PrefixSharingTest, APrefixStaysAsLongAsARowWaitsForIt) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange, 1));
  add(scheduler, 1, 7, 60, 5);
  add(scheduler, 2, 8, 60, 5);
  add(scheduler, 3, 7, 60, 5);
  run(scheduler);
  scheduler.remove(RowId(1));
  EXPECT_EQ(scheduler.counts().cells_cached, 60);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(2, 0, 65, 1)));
  scheduler.remove(RowId(2));
  EXPECT_EQ(scheduler.counts().cells_cached, 60) << "nobody waits for the second";
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(3, 60, 5, 1)));
  scheduler.remove(RowId(3));
  scheduler.next(100);
  EXPECT_EQ(scheduler.counts().cells_used, 0);
}

TEST_F(PrefixSharingTest, WhatIsKeptForLaterStaysWithinItsShare) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange, 1, 10'000));
  for (uint64_t row = 1; row <= 40; ++row) {
    add(scheduler, row, static_cast<int32_t>(row), 80, 5, true);
    run(scheduler);
    scheduler.remove(RowId(row));
    EXPECT_LE(scheduler.counts().cells_cached, 1024 + 85);
  }
  // A session comes back; most of the oldest were dropped.
  add(scheduler, 100, 40, 80, 5);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(100, 80, 5, 1)));
  scheduler.remove(RowId(100));
  add(scheduler, 101, 1, 80, 5);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(101, 0, 85, 1)));
  scheduler.remove(RowId(101));
  scheduler.evict_cached();
  EXPECT_EQ(scheduler.counts().cells_used, 0);
}

TEST_F(PrefixSharingTest, ALongConversationStaysWhileNothingRuns) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange, 2, 10'000));
  add(scheduler, 1, 7, 3000, 5, true);
  for (int step = 0; step < 31; ++step)
    run(scheduler);
  scheduler.remove(RowId(1));
  scheduler.next(100);
  EXPECT_EQ(scheduler.counts().cells_cached, 3005);
  // Other rows run: it is truncated to its share, and what is left of it is found again.
  add(scheduler, 2, 8, 60, 5);
  run(scheduler);
  run(scheduler);
  EXPECT_EQ(scheduler.counts().cells_cached, 1024);
  add(scheduler, 3, 7, 3000, 5);
  EXPECT_THAT(run(scheduler, 50).slices, ElementsAre(slice(2, 66, 1, 1), slice(3, 1024, 50, 0)));
}

// Each row pays for cached cells, so beside many rows fewer stay; the last used prefix is one.
TEST_F(PrefixSharingTest, BesideManyRowsLessIsCachedAndTheLastChatIsFound) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange, 9, 10'000));
  for (uint64_t row = 1; row <= 8; ++row)
    add(scheduler, row, static_cast<int32_t>(row), 40, 5);
  while (scheduler.counts().cells_used < 8 * 45)
    run(scheduler);
  for (uint64_t row = 11; row <= 20; ++row) {
    add(scheduler, row, static_cast<int32_t>(row), 80, 5, true);
    run(scheduler);
    run(scheduler);
    scheduler.remove(RowId(row));
    run(scheduler);
    EXPECT_LE(scheduler.counts().cells_cached, 256);
  }
  EXPECT_GE(scheduler.counts().cells_cached, 85);
  add(scheduler, 21, 20, 80, 5);
  const ScheduledStep step = run(scheduler);
  ASSERT_EQ(step.slices.size(), 9u);
  EXPECT_THAT(step.slices.back(), slice(21, 80, 5, 1));
}

TEST_F(PrefixSharingTest, CachedPrefixesAreEvictedBeforeRowsArePreempted) {
  BatchScheduler scheduler(limits(Sharing::kAnyRange, 2, 150));
  add(scheduler, 1, 7, 80, 5, true);
  run(scheduler);
  scheduler.remove(RowId(1));
  ASSERT_EQ(scheduler.counts().cells_cached, 85);
  add(scheduler, 2, 8, 80, 5);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(2, 0, 85, 1)));
  EXPECT_EQ(scheduler.counts().cells_cached, 0);
  EXPECT_EQ(scheduler.counts().preemptions, 0);
}

TEST_F(PrefixSharingTest, WhereOnlyEndsAreSharedTheFirstRowStopsWhereTheOthersLeaveIt) {
  BatchScheduler scheduler(limits(Sharing::kExactEnd, 2));
  for (uint64_t row = 1; row <= 3; ++row)
    add(scheduler, row, 7, 60, 5);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 0, 60, 0)));
  // The third row waits for a slot: what it shares stays cached for it.
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 60, 5, 1), slice(2, 60, 5, 1)));
  scheduler.remove(RowId(1));
  scheduler.remove(RowId(2));
  EXPECT_EQ(scheduler.counts().cells_cached, 60);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(3, 60, 5, 1)));
  scheduler.remove(RowId(3));
  scheduler.next(100);
  EXPECT_EQ(scheduler.counts().cells_used, 0);
}

TEST_F(PrefixSharingTest, WhereNothingCanBeSharedEveryRowComputesItsOwn) {
  BatchScheduler scheduler(limits(Sharing::kNothing));
  add(scheduler, 1, 7, 40, 5);
  add(scheduler, 2, 7, 40, 5);
  EXPECT_THAT(run(scheduler).slices, ElementsAre(slice(1, 0, 45, 1), slice(2, 0, 45, 1)));
}

// Rows that end after one token, all of a step at once, and few cells or ids beyond the rows': each
// still shares, and no slot stays empty.
TEST(ManyShortRows, OfOnePrefixComputeItOnceAndFillTheirSlots) {
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
      BatchScheduler scheduler({.cells_max = one.cells_max,
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
          // Some agree in their first own tokens by chance, which is not worth waiting for.
          for (int32_t i = 0; i < kOwn; ++i)
            row.push_back(static_cast<Token>(random.below(3)));
          scheduler.add({.id = RowId(next_row++),
                         .tokens = &row,
                         .prompt_tokens = one.prefix + kOwn,
                         .output_tokens_max = 1,
                         .outputs_from = one.prefix + kOwn - 1});
        }
        const ScheduledStep step = scheduler.next(2048);
        ASSERT_FALSE(step.slices.empty());
        scheduler.step_ran(step);
        ++steps;
        for (const Slice& part : step.slices) {
          computed += part.tokens_count;
          if (part.outputs_count == 0) continue;
          scheduler.remove(part.row);
          tokens.erase(part.row.value());
        }
      }
      const int32_t ideal_steps = kRows / one.rows_max + one.prefix / 2048;
      EXPECT_LE(steps, 1.4 * ideal_steps + 2);
      EXPECT_LE(computed, 1.01 * (one.prefix + kRows * kOwn));
    }
  }
}

// Phases of long and short rows, of one prefix and of many, with some rows that go on when the
// others have ended: what a step reads stays near what it uses.
TEST(LongJob, AStepReadsLittleMoreThanItUses) {
  Random random(5);
  SchedulerLimits limits{.cells_max = 60'000,
                         .rows_max = 16,
                         .sequences_max = 32,
                         .step_tokens_max = 2048,
                         .step_outputs_max = 16,
                         .sharing = Sharing::kAnyRange,
                         .compact_cells_max = 30'000};
  BatchScheduler scheduler(limits);
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
      scheduler.add({.id = RowId(next_row),
                     .tokens = &row,
                     .prompt_tokens = static_cast<int32_t>(row.size()),
                     .output_tokens_max = answer,
                     .outputs_from = static_cast<int32_t>(row.size()) - 1});
      ++next_row;
    }
    const ScheduledStep step = scheduler.next(500);
    scheduler.step_ran(step);
    used += scheduler.counts().cells_used;
    read += scheduler.counts().cells_end;
    const bool far = scheduler.counts().cells_end > 2 * scheduler.counts().cells_used + 1024;
    far_apart = far ? far_apart + 1 : 0;
    far_apart_most = std::max(far_apart_most, far_apart);
    for (const Slice& part : step.slices) {
      std::vector<Token>& row = tokens.at(part.row.value());
      if (part.first + part.tokens_count < std::ssize(row)) continue;
      row.push_back(static_cast<Token>(random.below(1000)) + 20'000);
      if (row.size() == ends.at(part.row.value())) {
        scheduler.remove(part.row);
        tokens.erase(part.row.value());
      } else {
        scheduler.extend(part.row);
      }
    }
  }
  EXPECT_LE(far_apart_most, 64);
  EXPECT_LT(static_cast<double>(read), 1.5 * static_cast<double>(used));
}

}  // namespace
}  // namespace windrow::engine
