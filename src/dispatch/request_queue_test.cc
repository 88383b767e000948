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

uint64_t next(RequestQueue& lanes) {
  const auto found = lanes.next(kAny);
  return found ? found->id.value() : 0;
}

TEST(RequestQueue, WithoutLanesTheOrderIsThatOfArrival) {
  RequestQueue lanes;
  for (uint64_t id = 1; id <= 3; ++id)
    lanes.push(item(id));
  EXPECT_EQ(next(lanes), 1U);
  EXPECT_EQ(next(lanes), 2U);
  EXPECT_EQ(next(lanes), 3U);
  EXPECT_EQ(next(lanes), 0U);
}

TEST(RequestQueue, OfALaneOneIsOutAtATime) {
  RequestQueue lanes;
  lanes.push(item(1, 5));
  lanes.push(item(2, 5));
  lanes.push(item(3, 6));
  EXPECT_EQ(next(lanes), 1U);
  EXPECT_EQ(next(lanes), 3U);
  EXPECT_EQ(next(lanes), 0U);
  lanes.ended(item(1, 5));
  EXPECT_EQ(next(lanes), 2U);
}

TEST(RequestQueue, ARetryKeepsItsPlaceInItsLane) {
  RequestQueue lanes;
  lanes.push(item(1, 5));
  lanes.push(item(2, 5));
  lanes.push(item(3));
  EXPECT_EQ(next(lanes), 1U);
  lanes.put_back(item(1, 5));
  EXPECT_EQ(next(lanes), 1U);
  lanes.ended(item(1, 5));
  EXPECT_EQ(next(lanes), 2U);
}

TEST(RequestQueue, TakingOneOutOpensItsLane) {
  RequestQueue lanes;
  lanes.push(item(1, 5));
  lanes.push(item(2, 5));
  EXPECT_EQ(lanes.take(ItemId(1))->id, ItemId(1));
  EXPECT_EQ(lanes.take(ItemId(1)), std::nullopt);
  EXPECT_EQ(next(lanes), 2U);
}

TEST(RequestQueue, NearDeadlinesGoFirstButNotAlways) {
  RequestQueue lanes({.dated_max = 2});
  for (uint64_t id = 1; id <= 6; ++id) {
    WorkItem dated = item(id);
    dated.deadline = TimePoint(seconds(100 - id));
    lanes.push(dated);
  }
  lanes.push(item(7));
  std::vector<uint64_t> order;
  while (const uint64_t id = next(lanes))
    order.push_back(id);
  EXPECT_EQ(order, (std::vector<uint64_t>{6, 5, 7, 4, 3, 2, 1}));
}

// Otherwise one that is always refused is what is tried whenever there is room for one.
TEST(RequestQueue, RefusedOnesGoBehindAllOthersButNotForEver) {
  RequestQueue lanes({.refused_overtaken_max = 3});
  WorkItem refused = item(1, 0, Priority::kInteractive);
  lanes.push(refused);
  ASSERT_EQ(next(lanes), 1U);
  refused.refused_by = 1;
  for (uint64_t id = 2; id <= 7; ++id)
    lanes.push(item(id, 0, id % 2 == 0 ? Priority::kNormal : Priority::kBatch));
  lanes.put_back(refused);
  std::vector<uint64_t> order;
  while (const uint64_t id = next(lanes))
    order.push_back(id);
  EXPECT_EQ(order, (std::vector<uint64_t>{2, 4, 6, 1, 3, 5, 7}));
}

TEST(RequestQueue, OneThatTakesThePlaceOfAnotherKeepsIt) {
  RequestQueue lanes;
  lanes.push(item(1));
  lanes.push(item(2));
  EXPECT_TRUE(lanes.replace(ItemId(1), item(3)));
  EXPECT_FALSE(lanes.replace(ItemId(1), item(4)));
  EXPECT_EQ(lanes.size(), 2U);
  EXPECT_EQ(next(lanes), 3U);
  // Also one that is out: it is put back before those that came later.
  EXPECT_TRUE(lanes.replace(ItemId(3), item(5)));
  lanes.put_back(item(5));
  EXPECT_EQ(next(lanes), 5U);
  lanes.ended(item(5));
  // And as one that is more urgent.
  lanes.push(item(6));
  EXPECT_TRUE(lanes.replace(ItemId(6), item(6, 0, Priority::kInteractive)));
  EXPECT_EQ(next(lanes), 6U);
  EXPECT_EQ(next(lanes), 2U);
}

TEST(RequestQueue, OffersOthersWhenTheFirstCannotGo) {
  RequestQueue lanes;
  lanes.push(item(1));
  lanes.push(item(2));
  EXPECT_EQ(lanes.next([](const WorkItem& it) { return it.id == ItemId(2); })->id, ItemId(2));
  EXPECT_EQ(next(lanes), 1U);
}

// Urgent work without end: the others go on, as often as was promised.
TEST(RequestQueue, NobodyStarves) {
  RequestQueue lanes({.overtaken_max = {4, 10}});
  uint64_t id = 0;
  std::map<uint64_t, Priority> priority;
  const auto push = [&](Priority of) {
    priority[++id] = of;
    lanes.push(item(id, 0, of));
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
    const Priority of = priority[next(lanes)];
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
    RequestQueue lanes;
    std::map<uint64_t, std::deque<uint64_t>> expected;  // by lane, that have not ended
    std::map<uint64_t, WorkItem> out;
    std::set<uint64_t> ended;
    uint64_t pushed = 0;
    for (int step = 0; step < 3000 || lanes.size() + out.size() > 0; ++step) {
      const double draw = random.unit();
      if (draw < 0.4 && step < 3000) {
        WorkItem fresh = item(++pushed, random.below(8), static_cast<Priority>(random.below(3)));
        if (random.chance(0.2)) fresh.deadline = TimePoint(seconds(random.below(1000)));
        if (fresh.lane != 0) expected[fresh.lane].push_back(pushed);
        lanes.push(fresh);
      } else if (draw < 0.7) {
        const auto found = lanes.next([&](const WorkItem&) { return random.chance(0.8); });
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
          lanes.put_back(it);
          continue;
        }
        lanes.ended(it);
        ASSERT_TRUE(ended.insert(it.id.value()).second);
        if (it.lane != 0) expected[it.lane].pop_front();
      } else if (pushed > 0 && random.chance(0.3)) {
        const auto taken = lanes.take(ItemId(1 + random.below(pushed)));
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
