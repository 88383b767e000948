#include "engine/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

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
            .sequences_max = sequences_max,
            .step_tokens_max = step_tokens_max,
            .step_outputs_max = sequences_max};
  }

  // A row that wants an answer, and scores of its prompt from a token on.
  void add(Plan& plan, uint64_t row, int32_t prompt_tokens, int32_t output_tokens_max,
           std::optional<Position> outputs_from = std::nullopt) {
    plan.add(RowId(row), prompt_tokens, output_tokens_max,
             outputs_from.value_or(prompt_tokens - 1));
    known_[row] = prompt_tokens;
  }

  // Runs the next step and extends every row whose last known token it computed.
  StepPlan run(Plan& plan, int32_t prefill_tokens_max = 100) {
    StepPlan step = plan.next(prefill_tokens_max);
    plan.step_ran(step);
    for (const Slice& done : step.slices) {
      if (done.first + done.tokens_count < known_.at(done.row.value())) continue;
      plan.extend(done.row);
      ++known_.at(done.row.value());
    }
    return step;
  }

 private:
  std::map<uint64_t, int32_t> known_;
};

TEST_F(PlanTest, APromptIsPrefilledThenDecodedTokenByToken) {
  Plan plan(limits(100, 4, 50));
  add(plan, 1, 10, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 10, 1)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 10, 1, 1)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 11, 1, 1)));
  plan.remove(RowId(1));
  EXPECT_TRUE(plan.next(100).slices.empty());
  EXPECT_EQ(plan.counts().cells_used, 0);
}

TEST_F(PlanTest, ALongPromptIsCutIntoChunks) {
  Plan plan(limits(100, 4, 50));
  add(plan, 1, 25, 5);
  EXPECT_THAT(run(plan, 10).slices, ElementsAre(slice(1, 0, 10, 0)));
  EXPECT_THAT(run(plan, 10).slices, ElementsAre(slice(1, 10, 10, 0)));
  EXPECT_THAT(run(plan, 10).slices, ElementsAre(slice(1, 20, 5, 1)));
}

TEST_F(PlanTest, DecodingRowsComeFirstAndPrefillFillsTheStep) {
  Plan plan(limits(100, 4, 50));
  add(plan, 1, 4, 5);
  run(plan);
  add(plan, 2, 30, 5);
  add(plan, 3, 6, 5);
  EXPECT_THAT(run(plan, 32).slices,
              ElementsAre(slice(1, 4, 1, 1), slice(2, 0, 30, 1), slice(3, 0, 2, 0)));
  EXPECT_THAT(run(plan, 32).slices,
              ElementsAre(slice(1, 5, 1, 1), slice(2, 30, 1, 1), slice(3, 2, 4, 1)));
}

TEST_F(PlanTest, AStepNeverExceedsItsTokens) {
  Plan plan(limits(100, 2, 8));
  add(plan, 1, 20, 5);
  EXPECT_THAT(run(plan, 100).slices, ElementsAre(slice(1, 0, 8, 0)));
}

TEST_F(PlanTest, RowsWaitForASequenceInOrder) {
  Plan plan(limits(100, 1, 50));
  add(plan, 1, 3, 5);
  add(plan, 2, 3, 5);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 3, 1)));
  EXPECT_EQ(plan.counts().rows_waiting, 1);
  plan.remove(RowId(1));
  const StepPlan step = run(plan);
  EXPECT_THAT(step.slices, ElementsAre(slice(2, 0, 3, 1)));
  EXPECT_THAT(step.forgotten, ElementsAre(SequenceId(0)));
}

TEST_F(PlanTest, ARowThatDoesNotFitBesideTheOthersWaits) {
  Plan plan(limits(100, 4, 100));
  add(plan, 1, 60, 10);
  add(plan, 2, 60, 10);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 0, 60, 1)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 60, 1, 1)));
}

TEST_F(PlanTest, WhenCellsEndTheYoungestIsComputedAgainLater) {
  Plan plan(limits(90, 2, 90));
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

TEST_F(PlanTest, AFailedStepIsTriedAgainRowByRow) {
  Plan plan(limits(100, 4, 100));
  add(plan, 1, 5, 9);
  add(plan, 2, 6, 9);
  const StepPlan both = plan.next(100);
  ASSERT_EQ(both.slices.size(), 2U);
  EXPECT_FALSE(plan.step_failed(both));
  const StepPlan first = plan.next(100);
  EXPECT_THAT(first.slices, ElementsAre(slice(1, 0, 5, 1)));
  EXPECT_EQ(first.forgotten.size(), 2U);
  EXPECT_TRUE(plan.step_failed(first));
  plan.remove(RowId(1));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 0, 6, 1)));
  add(plan, 3, 2, 9);
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(2, 6, 1, 1), slice(3, 0, 2, 1)));
}

TEST_F(PlanTest, WithoutSpaceTheYoungestGivesWayUnlessItIsTheOnlyOne) {
  Plan plan(limits(100, 4, 100));
  add(plan, 1, 5, 9);
  add(plan, 2, 6, 9);
  const StepPlan both = plan.next(100);
  ASSERT_EQ(both.slices.size(), 2U);
  EXPECT_TRUE(plan.step_had_no_space(both));
  EXPECT_EQ(plan.counts().rows_running, 1);
  EXPECT_FALSE(plan.step_had_no_space(plan.next(100)));
}

// Preempting the suspect itself would give the same step again, for ever.
TEST_F(PlanTest, WithoutSpaceForASuspectTheOthersGiveWay) {
  Plan plan(limits(100, 4, 100));
  add(plan, 1, 5, 9);
  add(plan, 2, 6, 9);
  EXPECT_FALSE(plan.step_failed(plan.next(100)));
  run(plan);  // the first is past it
  const StepPlan suspect = plan.next(100);
  EXPECT_THAT(suspect.slices, ElementsAre(slice(2, 0, 6, 1)));
  ASSERT_EQ(plan.counts().rows_running, 2);
  EXPECT_TRUE(plan.step_had_no_space(suspect));
  const StepPlan again = plan.next(100);
  EXPECT_THAT(again.slices, ElementsAre(slice(2, 0, 6, 1)));
  EXPECT_EQ(plan.counts().rows_running, 1);
  EXPECT_FALSE(plan.step_had_no_space(again));
}

TEST_F(PlanTest, APromptThatIsScoredIsCutWhereItsOutputsEnd) {
  PlanLimits few = limits(100, 3, 50);
  few.step_outputs_max = 6;
  Plan plan(few);
  add(plan, 1, 4, 5);
  run(plan);
  add(plan, 2, 12, 5, 0);
  add(plan, 3, 9, 5, 7);
  // The row that decodes has its output first; the third may bring what wants none.
  EXPECT_THAT(run(plan).slices,
              ElementsAre(slice(1, 4, 1, 1), slice(2, 0, 5, 5), slice(3, 0, 7, 0)));
  EXPECT_THAT(run(plan).slices, ElementsAre(slice(1, 5, 1, 1), slice(2, 5, 5, 5)));
  EXPECT_THAT(run(plan).slices,
              ElementsAre(slice(1, 6, 1, 1), slice(2, 10, 2, 2), slice(3, 7, 2, 2)));
}

TEST_F(PlanTest, ScoresAreNotHandedOutAgainAfterAPreemption) {
  PlanLimits few = limits(100, 2, 50);
  few.step_outputs_max = 4;
  Plan plan(few);
  add(plan, 1, 3, 5);
  add(plan, 2, 10, 5, 0);
  EXPECT_THAT(run(plan, 6).slices, ElementsAre(slice(1, 0, 3, 1), slice(2, 0, 3, 3)));
  ASSERT_TRUE(plan.step_had_no_space(plan.next(6)));
  plan.remove(RowId(1));
  EXPECT_THAT(plan.next(100).slices, ElementsAre(slice(2, 0, 7, 4)));
}

// Whatever happens to rows, in whatever order: every step keeps to what libllama would otherwise
// end the process for, every row is computed without gaps, and all rows end.
TEST(PlanFuzz, EveryStepKeepsToTheLimitsAndEveryRowEnds) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto sequences = static_cast<int32_t>(random.between(1, 8));
    const PlanLimits limits{
        .cells_max = static_cast<int32_t>(random.between(sequences, 200)),
        .sequences_max = sequences,
        .step_tokens_max = static_cast<int32_t>(random.between(sequences, 64)),
        .step_outputs_max = static_cast<int32_t>(random.between(sequences, 24))};
    Plan plan(limits);
    struct Truth {
      int32_t tokens;
      int32_t end;
      int32_t output_next = 0;  // of this token the logits are wanted next
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
        const auto outputs_from =
            static_cast<int32_t>(random.chance(0.5) ? prompt - 1 : random.between(0, prompt - 1));
        plan.add(RowId(next_row), prompt, answer, outputs_from);
        rows[next_row++] = Truth{prompt, prompt + answer, outputs_from};
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
      int32_t outputs = 0;
      std::set<int32_t> sequences_seen;
      for (const Slice& part : step.slices) {
        const Truth& row = rows.at(part.row.value());
        ASSERT_EQ(part.first, row.computed);
        ASSERT_GT(part.tokens_count, 0);
        ASSERT_LE(part.first + part.tokens_count, row.tokens);
        // Every output once and in order: the slice brings those that are next, and no others.
        ASSERT_EQ(part.outputs_count,
                  std::max(0, part.first + part.tokens_count - row.output_next));
        ASSERT_GE(part.sequence.value(), 0);
        ASSERT_LT(part.sequence.value(), limits.sequences_max);
        ASSERT_TRUE(sequences_seen.insert(part.sequence.value()).second);
        const auto [found, is_new] = owner.emplace(part.sequence.value(), part.row.value());
        ASSERT_EQ(found->second, part.row.value()) << "a sequence was not forgotten";
        tokens += part.tokens_count;
        outputs += part.outputs_count;
      }
      ASSERT_LE(outputs, limits.step_outputs_max);
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
        row.output_next += part.outputs_count;
        if (row.computed < row.tokens) continue;
        ASSERT_EQ(row.output_next, row.tokens);
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
