#include "dispatch/request_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "base/random.h"

namespace windrow::dispatch {
namespace {

using std::chrono::seconds;

const RequestQueue::Accept kAny = [](const WorkItem&) { return true; };

WorkItem item(uint64_t id, uint64_t lane = 0, Priority priority = Priority::kBatch) {
  return {.id = ItemId(id), .lane = lane, .priority = priority};
}

uint64_t next(RequestQueue& queue) {
  const auto found = queue.next(kAny);
  return found ? found->id.value() : 0;
}

TEST(RequestQueue, WithoutLanesTheOrderIsThatOfArrival) {
  RequestQueue queue;
  for (uint64_t id = 1; id <= 3; ++id)
    queue.push(item(id));
  EXPECT_EQ(next(queue), 1U);
  EXPECT_EQ(next(queue), 2U);
  EXPECT_EQ(next(queue), 3U);
  EXPECT_EQ(next(queue), 0U);
}

TEST(RequestQueue, OfALaneOneIsOutAtATime) {
  RequestQueue queue;
  queue.push(item(1, 5));
  queue.push(item(2, 5));
  queue.push(item(3, 6));
  EXPECT_EQ(next(queue), 1U);
  EXPECT_EQ(next(queue), 3U);
  EXPECT_EQ(next(queue), 0U);
  queue.ended(item(1, 5));
  EXPECT_EQ(next(queue), 2U);
}

TEST(RequestQueue, ARetryKeepsItsPlaceInItsLane) {
  RequestQueue queue;
  queue.push(item(1, 5));
  queue.push(item(2, 5));
  queue.push(item(3));
  EXPECT_EQ(next(queue), 1U);
  queue.put_back(item(1, 5));
  EXPECT_EQ(next(queue), 1U);
  queue.ended(item(1, 5));
  EXPECT_EQ(next(queue), 2U);
}

TEST(RequestQueue, TakingOneOutOpensItsLane) {
  RequestQueue queue;
  queue.push(item(1, 5));
  queue.push(item(2, 5));
  EXPECT_EQ(queue.take(ItemId(1))->id, ItemId(1));
  EXPECT_EQ(queue.take(ItemId(1)), std::nullopt);
  EXPECT_EQ(next(queue), 2U);
}

TEST(RequestQueue, NearDeadlinesGoFirstButNotAlways) {
  RequestQueue queue({.ready = {.deadline_run_max = 2}});
  for (uint64_t id = 1; id <= 6; ++id) {
    WorkItem dated = item(id);
    dated.deadline = TimePoint(seconds(100 - id));
    queue.push(dated);
  }
  queue.push(item(7));
  std::vector<uint64_t> order;
  while (const uint64_t id = next(queue))
    order.push_back(id);
  EXPECT_EQ(order, (std::vector<uint64_t>{6, 5, 7, 4, 3, 2, 1}));
}

// Otherwise an item that is always refused would be tried whenever there is capacity.
TEST(RequestQueue, RefusedItemsGoBehindAllOthersButNotForever) {
  RequestQueue queue({.refused_bypass_max = 3});
  WorkItem refused = item(1, 0, Priority::kInteractive);
  queue.push(refused);
  ASSERT_EQ(next(queue), 1U);
  refused.refused_by = 1;
  for (uint64_t id = 2; id <= 7; ++id)
    queue.push(item(id, 0, id % 2 == 0 ? Priority::kNormal : Priority::kBatch));
  queue.put_back(refused);
  std::vector<uint64_t> order;
  while (const uint64_t id = next(queue))
    order.push_back(id);
  EXPECT_EQ(order, (std::vector<uint64_t>{2, 4, 6, 1, 3, 5, 7}));
}

TEST(RequestQueue, AnItemThatReplacesAnotherKeepsItsArrival) {
  RequestQueue queue;
  queue.push(item(1));
  queue.push(item(2));
  EXPECT_TRUE(queue.replace(ItemId(1), item(3)));
  EXPECT_FALSE(queue.replace(ItemId(1), item(4)));
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(next(queue), 3U);
  // Also one that is out: it is put back before those that came later.
  EXPECT_TRUE(queue.replace(ItemId(3), item(5)));
  queue.put_back(item(5));
  EXPECT_EQ(next(queue), 5U);
  queue.ended(item(5));
  // And as one that is more urgent.
  queue.push(item(6));
  EXPECT_TRUE(queue.replace(ItemId(6), item(6, 0, Priority::kInteractive)));
  EXPECT_EQ(next(queue), 6U);
  EXPECT_EQ(next(queue), 2U);
}

TEST(RequestQueue, OffersOthersWhenTheFirstCannotGo) {
  RequestQueue queue;
  queue.push(item(1));
  queue.push(item(2));
  EXPECT_EQ(queue.next([](const WorkItem& it) { return it.id == ItemId(2); })->id, ItemId(2));
  EXPECT_EQ(next(queue), 1U);
}

// Urgent work without end: the others go on as often as the limits say.
TEST(RequestQueue, NoPriorityStarves) {
  RequestQueue queue({.bypass = {4, 10}});
  uint64_t id = 0;
  std::map<uint64_t, Priority> priority;
  const auto push = [&](Priority of) {
    priority[++id] = of;
    queue.push(item(id, 0, of));
  };
  for (int i = 0; i < 20; ++i) {
    push(Priority::kNormal);
    push(Priority::kBatch);
  }
  int since_normal = 0;
  int since_batch = 0;
  int normal = 0;
  int batch = 0;
  for (int start = 0; start < 400 && batch < 20; ++start) {
    push(Priority::kInteractive);
    const Priority of = priority[next(queue)];
    since_normal = of == Priority::kNormal ? 0 : since_normal + 1;
    since_batch = of == Priority::kBatch ? 0 : since_batch + 1;
    normal += of == Priority::kNormal ? 1 : 0;
    batch += of == Priority::kBatch ? 1 : 0;
    ASSERT_TRUE(normal == 20 || since_normal <= 4 + 1);  // one of them may be a batch's turn
    ASSERT_LE(since_batch, 10);
  }
  EXPECT_EQ(normal, 20);
  EXPECT_EQ(batch, 20);
}

// Random pushes, ends, retries and removals: a lane keeps its order, has one out, and everything
// that was pushed comes out or is taken out exactly once.
TEST(RequestQueue, KeepTheirInvariants) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RequestQueue queue;
    std::map<uint64_t, std::deque<uint64_t>> expected;  // by lane, that have not ended
    std::map<uint64_t, WorkItem> out;
    std::set<uint64_t> ended;
    uint64_t pushed = 0;
    for (int step = 0; step < 3000 || queue.size() + out.size() > 0; ++step) {
      const double draw = random.unit();
      if (draw < 0.4 && step < 3000) {
        WorkItem fresh = item(++pushed, random.below(8), static_cast<Priority>(random.below(3)));
        if (random.chance(0.2)) fresh.deadline = TimePoint(seconds(random.below(1000)));
        if (fresh.lane != 0) expected[fresh.lane].push_back(pushed);
        queue.push(fresh);
      } else if (draw < 0.7) {
        const auto found = queue.next([&](const WorkItem&) { return random.chance(0.8); });
        if (!found) continue;
        ASSERT_TRUE(out.emplace(found->id.value(), *found).second);
        if (found->lane == 0) continue;
        ASSERT_EQ(expected[found->lane].front(), found->id.value());
        for (const auto& [id, other] : out)
          ASSERT_TRUE(id == found->id.value() || other.lane != found->lane);
      } else if (!out.empty()) {
        const auto chosen =
            std::next(out.begin(), static_cast<std::ptrdiff_t>(random.below(out.size())));
        const WorkItem it = chosen->second;
        out.erase(chosen);
        if (random.chance(0.2)) {
          queue.put_back(it);
          continue;
        }
        queue.ended(it);
        ASSERT_TRUE(ended.insert(it.id.value()).second);
        if (it.lane != 0) expected[it.lane].pop_front();
      } else if (pushed > 0 && random.chance(0.3)) {
        const auto taken = queue.take(ItemId(1 + random.below(pushed)));
        if (!taken) continue;
        ASSERT_TRUE(ended.insert(taken->id.value()).second);
        if (taken->lane != 0) std::erase(expected[taken->lane], taken->id.value());
      }
    }
    EXPECT_EQ(ended.size(), pushed);
  }
}

}  // namespace
}  // namespace windrow::dispatch
