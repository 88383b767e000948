#include "engine/schedule/admission_policy.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace windrow::engine {
namespace {

using llm::Priority;

class AdmissionPolicyTest : public ::testing::Test {
 protected:
  ScheduledRow& row(Priority priority, int32_t prompt_tokens, int32_t tokens_max) {
    ScheduledRow& row = rows_.emplace_back();
    row.id = RowId(rows_.size());
    row.tokens = row.prompt_tokens = prompt_tokens;
    row.tokens_max = tokens_max;
    row.priority = row.rank = priority;
    return row;
  }

  // The row runs and has computed its prompt.
  void run(ScheduledRow& row) {
    row.begun = true;
    row.computed = row.tokens;
    cells_ += row.computed;
    running_.push_back(&row);
  }

  bool has_room(const AdmissionPolicy& policy, const ScheduledRow& row) const {
    return policy.has_room(row, policy.load(running_, cells_, Priority::kInteractive));
  }

  std::deque<ScheduledRow> rows_;
  std::vector<ScheduledRow*> running_;
  int32_t cells_ = 0;
};

TEST_F(AdmissionPolicyTest, ARowHasRoomBesideWhatTheOthersAreExpectedToNeed) {
  AdmissionPolicy policy(4, 300, {});
  run(row(Priority::kNormal, 100, 1000));
  const ScheduledRow& next = row(Priority::kNormal, 100, 1000);
  EXPECT_FALSE(has_room(policy, next)) << "two answers of 64 tokens beside two prompts of 100";
  // Answers turn out to be short.
  for (int i = 0; i < 100; ++i)
    policy.row_ended(row(Priority::kNormal, 10, 100));
  EXPECT_TRUE(has_room(policy, next));
  policy.row_outgrew_memory(row(Priority::kNormal, 100, 1000));
  EXPECT_TRUE(has_room(policy, next)) << "that row had generated nothing";
  ScheduledRow& longer = row(Priority::kNormal, 100, 1000);
  longer.tokens += 50;
  policy.row_outgrew_memory(longer);
  EXPECT_FALSE(has_room(policy, next));
}

TEST_F(AdmissionPolicyTest, TheFirstRowOfAllHasRoomHoweverLargeItIs) {
  const AdmissionPolicy policy(4, 300, {});
  EXPECT_TRUE(has_room(policy, row(Priority::kBatch, 250, 1000)));
}

TEST_F(AdmissionPolicyTest, SlotsThatClientsHeldStayFreeOfBatchRowsForAWhile) {
  AdmissionPolicy policy(4, 1000, {});
  run(row(Priority::kBatch, 10, 20));
  const ScheduledRow& batch = row(Priority::kBatch, 10, 20);
  const ScheduledRow& client = row(Priority::kNormal, 10, 20);
  EXPECT_FALSE(policy.is_kept_for_clients(batch, running_));
  policy.observe_clients(3);
  EXPECT_TRUE(policy.is_kept_for_clients(batch, running_));
  EXPECT_FALSE(policy.is_kept_for_clients(client, running_));
  int steps = 0;
  for (; policy.is_kept_for_clients(batch, running_); ++steps)
    policy.observe_clients(0);
  EXPECT_GT(steps, 10);
  EXPECT_LT(steps, 100);
}

}  // namespace
}  // namespace windrow::engine
