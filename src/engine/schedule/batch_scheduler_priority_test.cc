#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/random.h"
#include "engine/schedule/batch_scheduler.h"

namespace windrow::engine {
namespace {

using llm::Priority;
using ::testing::ElementsAre;

constexpr Priority kInteractive = Priority::kInteractive;
constexpr Priority kNormal = Priority::kNormal;
constexpr Priority kBatch = Priority::kBatch;

// Rows around a scheduler: each generates so many tokens, then it has ended.
class Rows {
 public:
  explicit Rows(SchedulerLimits limits) : scheduler_(limits) {}

  uint64_t add(Priority priority, int32_t prompt, int32_t answer) {
    const uint64_t id = next_row_++;
    Row& row = rows_[id];
    row.priority = priority;
    row.end = static_cast<size_t>(prompt) + static_cast<size_t>(answer);
    row.tokens.reserve(row.end);
    for (int32_t i = 0; i < prompt; ++i)
      row.tokens.push_back(static_cast<Token>(id));
    scheduler_.add({.id = RowId(id),
                    .tokens = &row.tokens,
                    .prompt_tokens = prompt,
                    .output_tokens_max = answer,
                    .outputs_from = prompt - 1,
                    .priority = priority});
    return id;
  }

  // The rows of the step, in its order, and how many tokens each brought.
  std::vector<std::pair<uint64_t, int32_t>> step(int32_t prefill_tokens_max = 1000,
                                                 const BackgroundTokens& background = {}) {
    const ScheduledStep step = scheduler_.next(prefill_tokens_max, 0, background);
    scheduler_.step_ran(step);
    std::vector<std::pair<uint64_t, int32_t>> ran;
    for (const Slice& part : step.slices) {
      const uint64_t id = part.row.value();
      ran.emplace_back(id, part.tokens_count);
      Row& row = rows_.at(id);
      if (!row.started) started_.push_back(id);
      row.started = true;
      if (part.outputs_count == 0) continue;
      row.tokens.push_back(-1);
      if (row.tokens.size() < row.end) {
        scheduler_.extend(part.row);
        continue;
      }
      scheduler_.remove(part.row);
      ended_.push_back(id);
      rows_.erase(id);
    }
    return ran;
  }

  // Until this one has ended.
  int32_t steps_until_end_of(uint64_t id, int32_t prefill_tokens_max = 1000) {
    int32_t steps = 0;
    for (; rows_.contains(id); ++steps) {
      EXPECT_LT(steps, 100'000);
      step(prefill_tokens_max);
    }
    return steps;
  }

  BatchScheduler& scheduler() { return scheduler_; }
  size_t size() const { return rows_.size(); }
  const std::vector<uint64_t>& started() const { return started_; }
  const std::vector<uint64_t>& ended() const { return ended_; }

 private:
  struct Row {
    std::vector<Token> tokens;
    size_t end = 0;
    Priority priority = kNormal;
    bool started = false;
  };

  BatchScheduler scheduler_;
  std::map<uint64_t, Row> rows_;
  std::vector<uint64_t> started_;
  std::vector<uint64_t> ended_;
  uint64_t next_row_ = 0;
};

SchedulerLimits limits(int32_t cells_max, int32_t rows_max, queueing::ReserveOptions reserve = {}) {
  return {.cells_max = cells_max,
          .rows_max = rows_max,
          .sequences_max = rows_max,
          .step_tokens_max = 1000,
          .step_outputs_max = rows_max,
          .reserve = reserve};
}

TEST(BatchSchedulerPriority, HigherPrioritiesAreAdmittedFirstAndOnePriorityInOrder) {
  Rows rows(limits(1000, 1));
  rows.add(kInteractive, 5, 1);
  rows.add(kBatch, 5, 1);
  rows.add(kNormal, 5, 1);
  rows.add(kInteractive, 5, 1);
  rows.add(kNormal, 5, 1);
  rows.add(kInteractive, 5, 1);
  while (rows.size() > 0)
    rows.step();
  EXPECT_THAT(rows.started(), ElementsAre(0, 3, 5, 2, 4, 1));
}

// Cells are short and a batch row has all of them: an interactive row of one token gets them at
// once.
TEST(BatchSchedulerPriority, AnInteractiveRowDoesNotWaitForAnAnswerOfTheBatch) {
  Rows rows(limits(2048, 32));
  for (int i = 0; i < 40; ++i)
    rows.add(kBatch, 1400, 200);
  rows.step();
  ASSERT_EQ(rows.scheduler().counts().rows_running, 1);
  const uint64_t one_word = rows.add(kInteractive, 30, 2);
  EXPECT_LE(rows.steps_until_end_of(one_word), 3);
  EXPECT_EQ(rows.scheduler().counts().preemptions, 0) << "it had room beside the other";
  const uint64_t longer = rows.add(kInteractive, 900, 2);
  EXPECT_LE(rows.steps_until_end_of(longer), 3);
  EXPECT_EQ(rows.scheduler().counts().preemptions, 1);
  EXPECT_THAT(rows.ended(), ElementsAre(one_word, longer));
}

TEST(BatchSchedulerPriority, OnlyBatchRowsArePreemptedAndOnlyWhenThatIsEnough) {
  Rows rows(limits(1000, 4));
  rows.add(kNormal, 600, 100);
  rows.add(kBatch, 100, 100);
  rows.step();
  ASSERT_EQ(rows.scheduler().counts().rows_running, 2);
  rows.add(kInteractive, 700, 10);
  rows.step();
  EXPECT_EQ(rows.scheduler().counts().preemptions, 0);
  rows.add(kNormal, 100, 1);
  rows.step();
  EXPECT_EQ(rows.scheduler().counts().rows_running, 2) << "no row passes one of higher priority";
}

// For a slot the youngest is preempted, and comes back before all younger rows of its priority.
TEST(BatchSchedulerPriority, TheYoungestBatchRowGivesUpItsSlot) {
  Rows rows(limits(1000, 2));
  rows.add(kBatch, 5, 400);
  rows.add(kBatch, 5, 40);
  rows.add(kBatch, 5, 1);
  rows.step();
  rows.add(kNormal, 5, 1);
  EXPECT_THAT(rows.step(), ElementsAre(std::pair(0U, 1), std::pair(3U, 5)));
  auto next = rows.step();
  for (int steps = 0; steps < 200 && next.size() == 1; ++steps)  // the client may come again
    next = rows.step();
  EXPECT_THAT(next, ElementsAre(std::pair(0U, 1), std::pair(1U, 6)));
}

TEST(BatchSchedulerPriority, SlotsAreReservedForInteractiveRows) {
  Rows rows(limits(10'000, 8, {.from_normal = 0.125, .from_batch = 0.25}));
  for (int i = 0; i < 20; ++i)
    rows.add(kBatch, 5, 50);
  rows.step();
  EXPECT_EQ(rows.scheduler().counts().rows_running, 6);
  for (int i = 0; i < 20; ++i)
    rows.add(kNormal, 5, 50);
  rows.step();
  EXPECT_EQ(rows.scheduler().counts().rows_running, 7);
  const int64_t preemptions = rows.scheduler().counts().preemptions;
  rows.add(kInteractive, 5, 1);
  rows.step();
  EXPECT_EQ(rows.scheduler().counts().preemptions, preemptions) << "there was a place for it";
  EXPECT_EQ(rows.ended().size(), 1U);
}

TEST(BatchSchedulerPriority, ARowLargerThanTheShareOfItsPriorityRunsAllTheSame) {
  Rows rows(limits(1000, 8, {.from_normal = 0.25, .from_batch = 0.5}));
  const uint64_t large = rows.add(kBatch, 900, 100);
  rows.steps_until_end_of(large);
}

// Chunk by chunk: an eighth of the step stays with the prompt that began before.
TEST(BatchSchedulerPriority, ALongBatchPromptGivesWayToAnInteractiveOne) {
  Rows rows(limits(100'000, 8));
  rows.add(kBatch, 10'000, 5);
  EXPECT_THAT(rows.step(80), ElementsAre(std::pair(0U, 80)));
  rows.add(kBatch, 20, 5);
  rows.add(kInteractive, 500, 5);
  EXPECT_THAT(rows.step(80), ElementsAre(std::pair(2U, 70), std::pair(0U, 10)));
  rows.add(kInteractive, 10, 5);
  // The oldest interactive row has half, the shortest what it wants.
  EXPECT_THAT(rows.step(80), ElementsAre(std::pair(2U, 60), std::pair(3U, 10), std::pair(0U, 10)));
}

// A row that computes the prefix of an interactive row inherits its priority.
TEST(BatchSchedulerPriority, APrefixIsComputedWithThePriorityOfTheRowThatWaitsForIt) {
  SchedulerLimits sharing = limits(100'000, 8);
  sharing.sequences_max = 16;
  sharing.sharing = Sharing::kAnyRange;
  BatchScheduler scheduler(sharing);
  const std::vector<Token> common(400, 7);
  std::vector<Token> also = common;
  also.push_back(8);
  const std::vector<Token> other(400, 9);
  const auto add = [&](uint64_t id, const std::vector<Token>& tokens, Priority priority) {
    scheduler.add({.id = RowId(id),
                   .tokens = &tokens,
                   .prompt_tokens = static_cast<int32_t>(tokens.size()),
                   .output_tokens_max = 5,
                   .outputs_from = static_cast<int32_t>(tokens.size()) - 1,
                   .priority = priority});
  };
  add(1, common, kBatch);
  scheduler.step_ran(scheduler.next(100));
  add(2, other, kNormal);
  add(3, also, kInteractive);
  const ScheduledStep step = scheduler.next(100);
  ASSERT_FALSE(step.slices.empty());
  EXPECT_EQ(step.slices.front().row, RowId(1));
  EXPECT_GT(step.slices.front().tokens_count, 50);
}

// More interactive rows arrive than can be answered, without end: all others are answered, too, and
// between two starts of those there are no more bypasses than the limits allow.
TEST(BatchSchedulerPriority, NoRowStarvesHoweverManyHaveAHigherPriority) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto rows_max = static_cast<int32_t>(random.between(1, 6));
    SchedulerLimits limits =
        engine::limits(static_cast<int32_t>(random.between(40, 300)), rows_max,
                       random.chance(0.5) ? queueing::kServerReserve : queueing::ReserveOptions());
    limits.mixes = random.chance(0.7);
    Rows rows(limits);
    const auto add = [&](Priority priority) {
      const auto prompt = static_cast<int32_t>(random.between(1, limits.cells_max / 2));
      return rows.add(priority, prompt, static_cast<int32_t>(random.between(1, 20)));
    };
    const Priority flood = random.chance(0.5) ? kInteractive : kNormal;
    std::array<uint64_t, 5> patient{};
    for (uint64_t& row : patient)
      row = add(kBatch);
    for (int steps = 0; !std::ranges::all_of(
             patient, [&](uint64_t id) { return std::ranges::count(rows.ended(), id) > 0; });
         ++steps) {
      ASSERT_LT(steps, 60'000) << "somebody starves";
      while (rows.size() < 4 * static_cast<size_t>(rows_max) + patient.size())
        add(flood);
      rows.step(static_cast<int32_t>(random.between(2, 100)));
    }
  }
}

constexpr BackgroundTokens kSitOut{.beside_clients_max = 0};

// With a model that mixes prompts and answers in a step, and with one that does not.
class BackgroundRows : public ::testing::TestWithParam<bool> {
 protected:
  Rows rows{{.cells_max = 4000,
             .rows_max = 8,
             .sequences_max = 8,
             .step_tokens_max = 512,
             .step_outputs_max = 8,
             .mixes = GetParam()}};
};

TEST_P(BackgroundRows, BatchRowsSitOutBesideClientsAndGoOnWhereTheyWere) {
  const uint64_t batch = rows.add(kBatch, 3, 20);
  rows.step();
  rows.step();
  const uint64_t chat = rows.add(kNormal, 3, 4);
  for (int i = 0; i < 4; ++i)
    EXPECT_THAT(rows.step(1000, kSitOut), ElementsAre(testing::Pair(chat, i == 0 ? 3 : 1)));
  for (int i = 0; i < 18; ++i)
    EXPECT_THAT(rows.step(1000, kSitOut), ElementsAre(testing::Pair(batch, 1)))
        << "nobody else runs";
  EXPECT_EQ(rows.size(), 0U);
}

TEST_P(BackgroundRows, TheirPromptsSitOutToo) {
  const uint64_t chat = rows.add(kNormal, 3, 10);
  rows.step();
  const uint64_t batch = rows.add(kBatch, 300, 2);
  EXPECT_THAT(rows.step(1000, kSitOut), ElementsAre(testing::Pair(chat, 1)));
  EXPECT_THAT(rows.step(), testing::Contains(testing::Pair(batch, 300)));
}

TEST_P(BackgroundRows, AStepHasAsMuchOfTheirPromptsAsIsAllowed) {
  const uint64_t chat = rows.add(kNormal, 3, 10);
  rows.step();
  const uint64_t batch = rows.add(kBatch, 300, 2);
  const BackgroundTokens some{.beside_clients_max = 40, .between_clients_max = 90};
  EXPECT_THAT(rows.step(1000, some), testing::Contains(testing::Pair(batch, 40)));
  while (rows.ended().empty())
    EXPECT_THAT(rows.step(1000, kSitOut), ElementsAre(testing::Pair(chat, 1)));
  EXPECT_THAT(rows.step(1000, some), ElementsAre(testing::Pair(batch, 90)));
}

// The oldest rows end and free their slots, instead of all going on a little.
TEST_P(BackgroundRows, TheOldestGoOnWhereNotAllAreAllowed) {
  const uint64_t chat = rows.add(kNormal, 3, 30);
  rows.step();
  std::vector<uint64_t> batch;
  batch.reserve(5);
  for (int i = 0; i < 5; ++i)
    batch.push_back(rows.add(kBatch, 1, 4));
  rows.step();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(rows.step(1000, {.beside_clients_max = 2}),
                testing::UnorderedElementsAre(testing::Pair(chat, 1), testing::Pair(batch[0], 1),
                                              testing::Pair(batch[1], 1)));
  }
  EXPECT_THAT(rows.ended(), ElementsAre(batch[0], batch[1]));
}

// Four clients that ask again as soon as they are answered: batch rows are preempted for them once.
TEST_P(BackgroundRows, SlotsOfClientsThatComeBackStayFree) {
  for (int i = 0; i < 40; ++i)
    rows.add(kBatch, 5, 1000);
  rows.step();
  ASSERT_EQ(rows.scheduler().counts().rows_running, 8);
  std::vector<uint64_t> chats(4);
  for (int round = 0; round < 5; ++round) {
    for (uint64_t& chat : chats)
      chat = rows.add(kNormal, 5, 10);
    for (const uint64_t chat : chats)
      rows.steps_until_end_of(chat);
    for (int i = 0; i < 5; ++i)
      rows.step();
    EXPECT_EQ(rows.scheduler().counts().preemptions, 4);
  }
  // And when no client comes any more, not for ever.
  for (int i = 0; i < 400 && rows.scheduler().counts().rows_running < 8; ++i)
    rows.step();
  EXPECT_EQ(rows.scheduler().counts().rows_running, 8);
}

INSTANTIATE_TEST_SUITE_P(Caches, BackgroundRows, ::testing::Bool());

}  // namespace
}  // namespace windrow::engine
