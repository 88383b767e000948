// Reserved slots and bounded bypass together.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "dispatch/testing/policy_rig.h"

namespace windrow::dispatch {
namespace {

using testing::fixed;
using Rig = testing::PolicyRig;

DispatchPolicyOptions kept(int32_t limit) {
  DispatchPolicyOptions options = fixed({limit});
  options.reserve = queueing::kServerReserve;
  return options;
}

TEST(DispatchPolicyReserve, AnInteractiveItemFindsASlotBesideLongRows) {
  Rig rig(kept(8));
  for (uint64_t id = 1; id <= 20; ++id)
    rig.submit(id, {.priority = Priority::kBatch});
  EXPECT_EQ(rig.out.size(), 7U);
  rig.submit(30, {.priority = Priority::kInteractive});
  EXPECT_EQ(rig.ids_out().back(), 30U);
  // The slot is reserved again when its call has ended.
  std::ranges::rotate(rig.out, rig.out.end() - 1);
  rig.answer_next();
  EXPECT_EQ(rig.out.size(), 7U);
  rig.answer_next();
  EXPECT_EQ(rig.out.size(), 7U) << "a row gets the slot of a row";
}

TEST(DispatchPolicyReserve, OtherSlotsAreNotHeldBack) {
  Rig rig(kept(8));
  for (uint64_t id = 1; id <= 4; ++id)
    rig.submit(id, {.priority = Priority::kInteractive});
  for (uint64_t id = 11; id <= 20; ++id)
    rig.submit(id, {.priority = Priority::kBatch});
  EXPECT_EQ(rig.out.size(), 8U);
}

TEST(DispatchPolicyReserve, PreemptibleRowsKeepNothingOut) {
  DispatchPolicyOptions options = kept(8);
  options.reserve.batch_is_preemptible = true;
  Rig rig(options);
  for (uint64_t id = 1; id <= 20; ++id)
    rig.submit(id, {.priority = Priority::kBatch});
  EXPECT_EQ(rig.out.size(), 7U);
  for (uint64_t id = 31; id <= 50; ++id)
    rig.submit(id, {.priority = Priority::kNormal});
  EXPECT_EQ(rig.out.size(), 14U) << "seven of each";
  EXPECT_EQ(rig.ids_out().back(), 37U);
  for (int i = 0; i < 7; ++i)
    rig.answer_next();
  EXPECT_EQ(rig.out.size(), 7U) << "no row starts while others hold as many slots";
}

TEST(DispatchPolicyReserve, ByDefaultNothingIsReserved) {
  Rig rig(fixed({8}));
  for (uint64_t id = 1; id <= 20; ++id)
    rig.submit(id, {.priority = Priority::kBatch});
  EXPECT_EQ(rig.out.size(), 8U);
}

TEST(DispatchPolicyReserve, APackedCallHasItsHighestPriority) {
  Rig rig(kept(4));
  for (uint64_t id = 1; id <= 6; ++id)
    rig.submit(id, {.priority = Priority::kBatch});
  rig.submit(11, {.pack = 1, .priority = Priority::kBatch});
  EXPECT_EQ(rig.out.size(), 3U);
  rig.submit(12, {.pack = 1, .priority = Priority::kInteractive});
  ASSERT_EQ(rig.out.size(), 4U);
  EXPECT_EQ(rig.out.back().items.size(), 2U);
}

TEST(DispatchPolicyReserve, ManyRowsTakeSeveralSlotsAndLeaveTheReserved) {
  DispatchPolicyOptions options = kept(8);
  options.upstreams[0].slots_by_rows = true;
  Rig rig(options);
  rig.submit(1, {.rows = 9, .priority = Priority::kBatch});
  EXPECT_EQ(rig.policy.in_flight(UpstreamId(0)), 3);
  rig.submit(2, {.rows = 2000, .priority = Priority::kBatch});
  EXPECT_EQ(rig.policy.in_flight(UpstreamId(0)), 7) << "half of all at most";
  rig.submit(3, {.priority = Priority::kBatch});
  EXPECT_EQ(rig.out.size(), 2U);
  rig.submit(4, {.rows = 2000, .priority = Priority::kInteractive});
  EXPECT_EQ(rig.out.size(), 3U) << "with what is left";
  EXPECT_EQ(rig.policy.slots_in_flight(), 8U);
  rig.answer_next();
  EXPECT_EQ(rig.ids_out(), (std::vector<uint64_t>{2, 4, 3}));
  EXPECT_EQ(rig.policy.slots_in_flight(), 6U);
  rig.answer_next();
  rig.answer_next();
  rig.answer_next();
  EXPECT_EQ(rig.policy.slots_in_flight(), 0U);
}

TEST(DispatchPolicyReserve, QueuedItemsCountByTheirRows) {
  Rig rig(fixed({1}));
  rig.submit(1);
  rig.submit(2, {.priority = Priority::kNormal});
  rig.submit(3, {.rows = 12, .priority = Priority::kNormal});
  rig.submit(4, {.rows = 2000, .priority = Priority::kBatch});
  EXPECT_EQ(rig.policy.backlog(Priority::kNormal), 1U + 4U);
  EXPECT_EQ(rig.policy.backlog(Priority::kBatch), 1U + 4U + 16U);
  for (int i = 0; i < 4; ++i)
    rig.answer_next();
  EXPECT_EQ(rig.policy.backlog(Priority::kBatch), 0U);
}

// Rows are queued while interactive items arrive without end: of the starts in slots that a row
// may use, every (bypass limit + 1)-th is a row's.
TEST(DispatchPolicyReserve, RowsAreBypassedNoMoreOftenThanTheLimit) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto limit = static_cast<int32_t>(random.between(1, 24));
    DispatchPolicyOptions options = kept(limit);
    const auto bypass_max = static_cast<int32_t>(random.between(1, 8));
    options.queue.bypass = {bypass_max, bypass_max};
    const int32_t rows_max =
        queueing::Reserve(queueing::kServerReserve).capacity(limit, Priority::kBatch);
    Rig rig(options);
    std::map<uint64_t, Priority> priority;
    uint64_t submitted = 0;
    const auto submit = [&](Priority it) {
      priority[++submitted] = it;
      rig.submit(submitted, {.priority = it});
    };
    for (int row = 0; row < 3000; ++row)
      submit(Priority::kBatch);
    for (int i = 0; i < 40; ++i)
      submit(Priority::kInteractive);
    int bypasses = 0;
    for (int step = 0; step < 1000; ++step) {
      submit(Priority::kInteractive);
      int rows = 0;
      for (const uint64_t id : rig.ids_out())
        rows += priority[id] == Priority::kBatch ? 1 : 0;
      ASSERT_LE(rows, rows_max);
      const auto chosen = static_cast<std::ptrdiff_t>(random.below(rig.out.size()));
      const Priority ended = priority[rig.out[static_cast<size_t>(chosen)].items.front().value()];
      rows -= ended == Priority::kBatch ? 1 : 0;
      std::ranges::rotate(rig.out, rig.out.begin() + chosen);
      rig.answer_next();
      ASSERT_EQ(std::ssize(rig.out), limit);
      if (priority[rig.ids_out().back()] == Priority::kBatch) {
        bypasses = 0;
      } else if (rows < rows_max) {
        ASSERT_LE(++bypasses, bypass_max);
      }
    }
  }
}

}  // namespace
}  // namespace windrow::dispatch
