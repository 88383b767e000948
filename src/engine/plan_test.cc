#include "engine/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"

namespace windrow::engine {
namespace {

using ::testing::ElementsAre;

// A slice as a test reads it: row, first token, tokens, logits.
struct Want {
  uint64_t row;
  Position first;
  int32_t tokens_count;
  bool logits;
};

MATCHER_P(IsSlice, want, "") {
  return arg.row == RowId(want.row) && arg.first == want.first &&
         arg.tokens_count == want.tokens_count && arg.wants_logits == want.logits;
}

auto slice(uint64_t row, Position first, int32_t tokens_count, bool logits) {
  return IsSlice(Want{row, first, tokens_count, logits});
}

class PlanTest : public ::testing::Test {
 protected:
  // Runs the next step and extends every row that got logits.
  StepPlan run(Plan& plan, int32_t prefill_tokens_max = 100) {
    StepPlan step = plan.next(prefill_tokens_max);
    plan.step_ran(step);
    for (const Slice& done : step.slices) {
      if (done.wants_logits) plan.extend(done.row);
    }
    return step;
  }
};

TEST_F(PlanTest, APromptIsPrefilledThenDecodedTokenByToken) {
  Plan plan({.cells_max = 100, .sequences_max = 4, .step_tokens_max = 50});
  plan.add(RowId(1), 10, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 10, true)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 10, 1, true)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 11, 1, true)));
  plan.remove(RowId(1));
  EXPECT_TRUE(plan.next(100).slices.empty());
  EXPECT_EQ(plan.counts().cells_used, 0);
}

TEST_F(PlanTest, ALongPromptIsCutIntoChunks) {
  Plan plan({.cells_max = 100, .sequences_max = 4, .step_tokens_max = 50});
  plan.add(RowId(1), 25, 5);
  EXPECT_THAT(run(plan, 10).slices, ElementsAre(slice(1, 0, 10, false)));
  EXPECT_THAT(run(plan, 10).slices, ElementsAre(slice(1, 10, 10, false)));
  EXPECT_THAT(run(plan, 10).slices, ElementsAre(slice(1, 20, 5, true)));
}

TEST_F(PlanTest, DecodingRowsComeFirstAndPrefillFillsTheStep) {
  Plan plan({.cells_max = 100, .sequences_max = 4, .step_tokens_max = 50});
  plan.add(RowId(1), 4, 5);
  run(plan);
  plan.add(RowId(2), 30, 5);
  plan.add(RowId(3), 6, 5);
  EXPECT_THAT(run(plan, 32).slices,
              ElementsAre(slice(1, 4, 1, true), slice(2, 0, 30, true), slice(3, 0, 2, false)));
  EXPECT_THAT(run(plan, 32).slices,
              ElementsAre(slice(1, 5, 1, true), slice(2, 30, 1, true), slice(3, 2, 4, true)));
}

TEST_F(PlanTest, AStepNeverExceedsItsTokens) {
  Plan plan({.cells_max = 100, .sequences_max = 2, .step_tokens_max = 8});
  plan.add(RowId(1), 20, 5);
  EXPECT_THAT(run(plan, 100).slices, ElementsAre(slice(1, 0, 8, false)));
}

TEST_F(PlanTest, RowsWaitForASequenceInOrder) {
  Plan plan({.cells_max = 100, .sequences_max = 1, .step_tokens_max = 50});
  plan.add(RowId(1), 3, 5);
  plan.add(RowId(2), 3, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 3, true)));
  EXPECT_EQ(plan.counts().rows_waiting, 1);
  plan.remove(RowId(1));
  const StepPlan step = run(plan);
  EXPECT_THAT(step.slices, ElementsAre(slice(2, 0, 3, true)));
  EXPECT_THAT(step.forgotten, ElementsAre(SequenceId(0)));
}

TEST_F(PlanTest, ARowThatDoesNotFitBesideTheOthersWaits) {
  Plan plan({.cells_max = 100, .sequences_max = 4, .step_tokens_max = 100});
  plan.add(RowId(1), 60, 10);
  plan.add(RowId(2), 60, 10);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 60, true)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 60, 1, true)));
}

TEST_F(PlanTest, WhenCellsEndTheYoungestIsComputedAgainLater) {
  Plan plan({.cells_max = 90, .sequences_max = 2, .step_tokens_max = 90});
  plan.add(RowId(1), 20, 70);
  plan.add(RowId(2), 20, 70);
  run(plan);
  ASSERT_EQ(plan.counts().rows_running, 1) << "64 tokens each are expected of an answer";
  plan.remove(RowId(1));
  plan.remove(RowId(2));
  // Many short answers teach it to expect less; then two long ones surprise it.
  for (uint64_t row = 10; row < 200; ++row) {
    plan.add(RowId(row), 1, 2);
    run(plan);
    plan.remove(RowId(row));
  }
  plan.add(RowId(1), 20, 70);
  plan.add(RowId(2), 20, 70);
  run(plan);
  ASSERT_EQ(plan.counts().rows_running, 2);
  while (plan.counts().preemptions == 0)
    run(plan);
  EXPECT_EQ(plan.counts().rows_running, 1);
  EXPECT_EQ(plan.counts().rows_waiting, 1);
  // 20 + 25 tokens each filled the 90 cells; the first goes on.
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 46, 1, true)));
  plan.remove(RowId(1));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 0, 46, true)));
  EXPECT_EQ(plan.counts().recomputed_tokens, 45);
}

TEST_F(PlanTest, AFailedStepIsTriedAgainRowByRow) {
  Plan plan({.cells_max = 100, .sequences_max = 4, .step_tokens_max = 100});
  plan.add(RowId(1), 5, 9);
  plan.add(RowId(2), 6, 9);
  const StepPlan both = plan.next(100);
  ASSERT_EQ(both.slices.size(), 2U);
  EXPECT_FALSE(plan.step_failed(both));
  const StepPlan first = plan.next(100);
  EXPECT_THAT(first.slices, ElementsAre(slice(1, 0, 5, true)));
  EXPECT_EQ(first.forgotten.size(), 2U);
  EXPECT_TRUE(plan.step_failed(first));
  plan.remove(RowId(1));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 0, 6, true)));
  plan.add(RowId(3), 2, 9);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 6, 1, true), slice(3, 0, 2, true)));
}

TEST_F(PlanTest, WithoutSpaceTheYoungestGivesWayUnlessItIsTheOnlyOne) {
  Plan plan({.cells_max = 100, .sequences_max = 4, .step_tokens_max = 100});
  plan.add(RowId(1), 5, 9);
  plan.add(RowId(2), 6, 9);
  const StepPlan both = plan.next(100);
  ASSERT_EQ(both.slices.size(), 2U);
  EXPECT_TRUE(plan.step_had_no_space(both));
  EXPECT_EQ(plan.counts().rows_running, 1);
  EXPECT_FALSE(plan.step_had_no_space(plan.next(100)));
}

// Preempting the suspect itself would give the same step again, for ever.
TEST_F(PlanTest, WithoutSpaceForASuspectTheOthersGiveWay) {
  Plan plan({.cells_max = 100, .sequences_max = 4, .step_tokens_max = 100});
  plan.add(RowId(1), 5, 9);
  plan.add(RowId(2), 6, 9);
  EXPECT_FALSE(plan.step_failed(plan.next(100)));
  run(plan);  // the first is past it
  const StepPlan suspect = plan.next(100);
  EXPECT_THAT(suspect.slices, ElementsAre(slice(2, 0, 6, true)));
  ASSERT_EQ(plan.counts().rows_running, 2);
  EXPECT_TRUE(plan.step_had_no_space(suspect));
  const StepPlan again = plan.next(100);
  EXPECT_THAT(again.slices, ElementsAre(slice(2, 0, 6, true)));
  EXPECT_EQ(plan.counts().rows_running, 1);
  EXPECT_FALSE(plan.step_had_no_space(again));
}

// Whatever happens to rows, in whatever order: every step keeps to what libllama would otherwise
// end the process for, every row is computed without gaps, and all rows end.
TEST(PlanFuzz, EveryStepKeepsToTheLimitsAndEveryRowEnds) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto sequences = static_cast<int32_t>(random.between(1, 8));
    const PlanLimits limits{.cells_max = static_cast<int32_t>(random.between(sequences, 200)),
                            .sequences_max = sequences,
                            .step_tokens_max = static_cast<int32_t>(random.between(sequences, 64))};
    Plan plan(limits);
    struct Truth {
      int32_t tokens;
      int32_t end;
      int32_t computed = 0;
      int32_t sequence = -1;
    };
    std::map<uint64_t, Truth> rows;
    std::map<int32_t, uint64_t> owner;  // of each sequence, until it is forgotten
    uint64_t next_row = 0;
    uint64_t oldest_seen = 0;
    for (int steps = 0; next_row < 40 || !rows.empty(); ++steps) {
      ASSERT_LT(steps, 100'000) << "no progress";
      while (next_row < 40 && random.chance(0.4)) {
        const auto prompt = static_cast<int32_t>(random.between(1, limits.cells_max));
        const auto answer = static_cast<int32_t>(random.between(1, limits.cells_max - prompt + 1));
        plan.add(RowId(next_row), prompt, answer);
        rows[next_row++] = Truth{prompt, prompt + answer};
      }
      const auto budget = static_cast<int32_t>(random.between(1, 80));
      const StepPlan step = plan.next(budget);
      for (const SequenceId id : step.forgotten) {
        if (const auto found = owner.find(id.value()); found != owner.end()) {
          if (const auto row = rows.find(found->second); row != rows.end()) {
            row->second.computed = 0;
            row->second.sequence = -1;
          }
          owner.erase(found);
        }
      }
      ASSERT_FALSE(step.slices.empty() && !rows.empty()) << "rows are there, but no step";
      if (step.slices.empty()) continue;
      int32_t tokens = 0;
      std::set<int32_t> sequences_seen;
      for (const Slice& part : step.slices) {
        const Truth& row = rows.at(part.row.value());
        ASSERT_EQ(part.first, row.computed);
        ASSERT_GT(part.tokens_count, 0);
        ASSERT_LE(part.first + part.tokens_count, row.tokens);
        ASSERT_EQ(part.wants_logits, part.first + part.tokens_count == row.tokens);
        ASSERT_GE(part.sequence.value(), 0);
        ASSERT_LT(part.sequence.value(), limits.sequences_max);
        ASSERT_TRUE(sequences_seen.insert(part.sequence.value()).second);
        const auto [found, is_new] = owner.emplace(part.sequence.value(), part.row.value());
        ASSERT_EQ(found->second, part.row.value()) << "a sequence was not forgotten";
        tokens += part.tokens_count;
      }
      ASSERT_LE(tokens, limits.step_tokens_max);
      int32_t cells = tokens;
      for (const auto& [id, row] : rows)
        cells += row.computed;
      ASSERT_LE(cells, limits.cells_max);
      const double fate = random.unit();
      if (fate < 0.05) {
        const bool alone = plan.step_failed(step);
        ASSERT_EQ(alone, step.slices.size() == 1);
        if (alone) {
          plan.remove(step.slices.front().row);
          rows.erase(step.slices.front().row.value());
        }
        continue;
      }
      if (fate < 0.08 && plan.counts().rows_running > 1) {
        ASSERT_TRUE(plan.step_had_no_space(step));
        continue;
      }
      plan.step_ran(step);
      for (const Slice& part : step.slices) {
        Truth& row = rows.at(part.row.value());
        row.computed += part.tokens_count;
        row.sequence = part.sequence.value();
        if (!part.wants_logits) continue;
        ++row.tokens;
        if (row.tokens == row.end || random.chance(0.05)) {
          plan.remove(part.row);
          rows.erase(part.row.value());
        } else {
          plan.extend(part.row);
        }
      }
      if (!rows.empty() && random.chance(0.02)) {  // somebody changes their mind
        const uint64_t victim = rows.begin()->first;
        plan.remove(RowId(victim));
        rows.erase(victim);
      }
      if (!rows.empty()) {
        ASSERT_GE(rows.begin()->first, oldest_seen);
        oldest_seen = rows.begin()->first;
      }
    }
    EXPECT_EQ(plan.counts().cells_used, 0);
    EXPECT_EQ(plan.counts().rows_running + plan.counts().rows_waiting, 0);
  }
}

}  // namespace
}  // namespace windrow::engine
