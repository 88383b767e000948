#include "dispatch/single_flight.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace windrow::dispatch {
namespace {

constexpr Hash128 kQuestion{1, 2};

TEST(SingleFlight, TheFirstLeadsAndTheOthersShareItsEnd) {
  SingleFlight coalescer;
  EXPECT_EQ(coalescer.join(kQuestion, ItemId(1)), std::nullopt);
  EXPECT_EQ(coalescer.join(kQuestion, ItemId(2)), ItemId(1));
  EXPECT_EQ(coalescer.join(kQuestion, ItemId(3)), ItemId(1));
  EXPECT_EQ(coalescer.leader_ended(kQuestion, ItemId(1)),
            (std::vector<ItemId>{ItemId(2), ItemId(3)}));
  EXPECT_EQ(coalescer.join(kQuestion, ItemId(4)), std::nullopt);  // a new question
}

TEST(SingleFlight, ALeaderThatLeavesIsReplacedByItsFirstFollower) {
  SingleFlight coalescer;
  EXPECT_EQ(coalescer.join(kQuestion, ItemId(1)), std::nullopt);
  EXPECT_EQ(coalescer.join(kQuestion, ItemId(2)), ItemId(1));
  EXPECT_EQ(coalescer.join(kQuestion, ItemId(3)), ItemId(1));
  EXPECT_EQ(coalescer.leave(kQuestion, ItemId(3)), std::nullopt);
  EXPECT_EQ(coalescer.leave(kQuestion, ItemId(1)), ItemId(2));
  EXPECT_EQ(coalescer.leader_of(kQuestion), ItemId(2));
  EXPECT_TRUE(coalescer.leader_ended(kQuestion, ItemId(2)).empty());
}

TEST(SingleFlight, EachItemEndsExactlyOnce) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    SingleFlight coalescer;
    std::map<uint64_t, Hash128> open;    // items that have not ended
    std::map<uint64_t, ItemId> leaders;  // by question
    std::map<uint64_t, int> ends;
    const auto end = [&](ItemId item) {
      ++ends[item.value()];
      open.erase(item.value());
    };
    for (uint64_t step = 1; step <= 2000; ++step) {
      const uint64_t number = random.below(20);
      const Hash128 question{number, number};
      if (random.chance(0.6)) {
        open[step] = question;
        if (const auto leader = coalescer.join(question, ItemId(step))) {
          ASSERT_TRUE(leaders.contains(number));
          ASSERT_EQ(*leader, leaders[number]);
        } else {
          ASSERT_FALSE(leaders.contains(number));
          leaders[number] = ItemId(step);
        }
      } else if (random.chance(0.5) && leaders.contains(number)) {
        const ItemId leader = leaders[number];
        leaders.erase(number);
        end(leader);
        for (const ItemId follower : coalescer.leader_ended(question, leader))
          end(follower);
      } else if (!open.empty()) {
        const auto chosen =
            std::next(open.begin(), static_cast<std::ptrdiff_t>(random.below(open.size())));
        const ItemId item(chosen->first);
        const uint64_t of = chosen->second.low;
        const bool led = leaders[of] == item;
        const auto next = coalescer.leave(chosen->second, item);
        if (led && next) leaders[of] = *next;
        if (led && !next) leaders.erase(of);
        ASSERT_TRUE(led || !next);
        end(item);
      }
    }
    for (const auto& [number, leader] : std::map(leaders)) {
      end(leader);
      for (const ItemId follower : coalescer.leader_ended({number, number}, leader))
        end(follower);
    }
    EXPECT_TRUE(open.empty());
    EXPECT_EQ(coalescer.followers(), 0U);
    for (const auto& [item, times] : ends)
      EXPECT_EQ(times, 1) << item;
  }
}

}  // namespace
}  // namespace windrow::dispatch
