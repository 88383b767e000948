#include "dispatch/item_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"

namespace windrow::dispatch {
namespace {

TimePoint at(int64_t s) {
  return TimePoint(std::chrono::seconds(s));
}

WorkItem work(uint64_t id, Priority priority = Priority::kBatch, uint64_t tenant = 0) {
  return {.id = ItemId(id), .tenant = tenant, .priority = priority};
}

TEST(ItemTable, CountsQueuedItemsByPriorityAndAge) {
  ItemTable table;
  table.set_state(table.add(at(1), work(1), 0), QueueState::kQueued);
  table.set_state(table.add(at(2), work(2), 0), QueueState::kQueued);
  table.set_state(table.add(at(3), work(3, Priority::kInteractive), 0), QueueState::kQueued);
  table.set_state(table.add(at(4), work(4), 0), QueueState::kFollowing);
  const QueueReading reading = table.queue(at(10));
  EXPECT_EQ(reading.waiting, (std::array<int32_t, 3>{1, 0, 2}));
  EXPECT_EQ(reading.oldest_age[2], Duration(std::chrono::seconds(9)));
  EXPECT_EQ(reading.oldest_age[1], Duration());
  EXPECT_EQ(table.backlog(Priority::kInteractive), 1U);
  EXPECT_EQ(table.backlog(Priority::kBatch), 3U) << "a follower is no backlog";
  EXPECT_EQ(table.queued_and_backoff(), (std::vector<ItemId>{ItemId(3), ItemId(1), ItemId(2)}));
  table.set_state(table.at(ItemId(1)), QueueState::kInFlight);
  EXPECT_EQ(table.in_flight(), 1U);
  EXPECT_EQ(table.queue(at(10)).waiting[2], 1);
  table.remove(ItemId(1));
  EXPECT_EQ(table.in_flight(), 0U);
  EXPECT_EQ(table.find(ItemId(1)), nullptr);
  EXPECT_EQ(table.size(), 3U);
}

TEST(ItemTable, AnItemOfManyRowsIsMoreBacklogWithinABound) {
  ItemTable table;
  WorkItem rows = work(1);
  rows.rows = 12;
  table.set_state(table.add(at(1), rows, 0), QueueState::kQueued);
  EXPECT_EQ(table.backlog(Priority::kBatch), 4U);
  rows.id = ItemId(2);
  rows.rows = 2000;
  table.set_state(table.add(at(1), rows, 0), QueueState::kQueued);
  EXPECT_EQ(table.backlog(Priority::kBatch), 4U + 16U);
}

TEST(ItemTable, RetriesAreDueInTheirOrder) {
  ItemTable table;
  table.set_backoff(table.add(at(1), work(1), 0), at(20));
  table.set_backoff(table.add(at(1), work(2), 0), at(10));
  EXPECT_EQ(table.next_retry(), at(10));
  EXPECT_EQ(table.due_retry(at(9)), std::nullopt);
  EXPECT_EQ(table.due_retry(at(10)), ItemId(2));
  table.set_state(table.at(ItemId(2)), QueueState::kQueued);
  EXPECT_EQ(table.next_retry(), at(20));
  EXPECT_EQ(table.queued_and_backoff(), (std::vector<ItemId>{ItemId(2), ItemId(1)}));
}

TEST(ItemTable, SaysHowManyAreTriedAgainAndHowOftenAtMost) {
  ItemTable table;
  EXPECT_EQ(table.retries(3), RetryReading{});
  ItemTable::Record& refused = table.add(at(1), work(1), 0);
  refused.attempts.refused = 4;
  table.set_backoff(refused, at(20));
  EXPECT_EQ(table.retries(3), (RetryReading{.waiting = 1, .try_next = 1, .tries_max = 3}));
  ItemTable::Record& failed = table.add(at(1), work(2), 0);
  failed.attempts.used = 1;
  table.set_backoff(failed, at(10));
  EXPECT_EQ(table.retries(3), (RetryReading{.waiting = 2, .try_next = 2, .tries_max = 3}));
  table.set_state(table.at(ItemId(2)), QueueState::kInFlight);
  EXPECT_EQ(table.retries(3).waiting, 1) << "what is in flight waits no more";
}

TEST(ItemTable, ADeadlineHoldsUntilTheItemIsInFlight) {
  ItemTable table;
  WorkItem item = work(1);
  item.deadline = at(5);
  table.set_state(table.add(at(1), item, 0), QueueState::kQueued);
  EXPECT_EQ(table.next_deadline(), at(5));
  EXPECT_EQ(table.overdue(at(4)), std::nullopt);
  EXPECT_EQ(table.overdue(at(5)), ItemId(1));
  table.set_state(table.at(ItemId(1)), QueueState::kInFlight);
  EXPECT_EQ(table.next_deadline(), std::nullopt);
  table.set_backoff(table.at(ItemId(1)), at(7));
  EXPECT_EQ(table.overdue(at(5)), ItemId(1)) << "it counts again where it is retried";
}

TEST(ItemTable, AnHeirTakesOverEverythingButWhatItIs) {
  ItemTable table;
  WorkItem first = work(1, Priority::kInteractive, 7);
  first.pack = 3;
  table.add(at(1), first, 0);
  table.set_state(table.add(at(2), work(2, Priority::kBatch, 8), 0), QueueState::kFollowing);
  ItemTable::Record& from = table.at(ItemId(1));
  table.set_state(from, QueueState::kInFlight);
  from.call = CallId(9);
  from.attempts.used = 2;
  from.handed_out = true;
  ItemTable::Record& heir = table.at(ItemId(2));
  table.take_over(from, heir);
  EXPECT_EQ(from.state(), QueueState::kNone);
  EXPECT_FALSE(from.handed_out);
  EXPECT_EQ(heir.state(), QueueState::kInFlight);
  EXPECT_EQ(heir.call, CallId(9));
  EXPECT_EQ(heir.attempts.used, 2);
  EXPECT_TRUE(heir.handed_out);
  EXPECT_EQ(heir.item.pack, 3U);
  EXPECT_EQ(heir.item.priority, Priority::kBatch);
  EXPECT_EQ(heir.item.tenant, 8U);
  ASSERT_EQ(table.tenants().size(), 1U);
  EXPECT_EQ(table.tenants().front().tenant, 8U);
}

// Whatever happens to items, the counts are what counting the records would give.
TEST(ItemTable, CountsMatchTheRecords) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ItemTable table;
    std::map<uint64_t, QueueState> states;
    uint64_t added = 0;
    for (int step = 0; step < 500; ++step) {
      if (states.empty() || random.chance(0.3)) {
        table.add(at(step), work(++added, static_cast<Priority>(random.below(3)), random.below(4)),
                  0);
        states[added] = QueueState::kNone;
      } else {
        const auto chosen =
            std::next(states.begin(), static_cast<std::ptrdiff_t>(random.below(states.size())));
        ItemTable::Record& record = table.at(ItemId(chosen->first));
        const double draw = random.unit();
        if (draw < 0.2) {
          table.remove(ItemId(chosen->first));
          states.erase(chosen);
        } else if (draw < 0.4) {
          table.update(record, static_cast<Priority>(random.below(3)), random.below(4), 1);
        } else if (draw < 0.5 && record.state() != QueueState::kBackoff) {
          table.set_backoff(record, at(step + 5));
          chosen->second = QueueState::kBackoff;
        } else if (draw >= 0.5) {
          chosen->second = random.chance(0.5) ? QueueState::kQueued : QueueState::kInFlight;
          table.set_state(record, chosen->second);
        }
      }
      std::map<uint64_t, std::pair<int64_t, int64_t>> tenants;  // waiting and in flight
      size_t in_flight = 0;
      size_t behind = 0;
      for (const auto& [id, state] : states) {
        if (state == QueueState::kNone) continue;
        const bool flies = state == QueueState::kInFlight;
        auto& [waiting, out] = tenants[table.at(ItemId(id)).item.tenant];
        ++(flies ? out : waiting);
        ++(flies ? in_flight : behind);
      }
      ASSERT_EQ(table.in_flight(), in_flight);
      ASSERT_EQ(table.backlog(Priority::kBatch), behind);
      ASSERT_EQ(table.queued_and_backoff().size(), behind);
      ASSERT_EQ(table.tenants().size(), tenants.size());
      for (const TenantReading& reading : table.tenants())
        ASSERT_EQ(std::pair(reading.waiting, reading.out), tenants.at(reading.tenant));
    }
  }
}

}  // namespace
}  // namespace windrow::dispatch
