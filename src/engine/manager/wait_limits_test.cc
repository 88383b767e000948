#include "engine/manager/wait_limits.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/random.h"

namespace windrow::engine {
namespace {

using Waiter = WaitLimits::Waiter;

TimePoint at(uint64_t seconds) {
  return TimePoint(std::chrono::seconds(seconds));
}

TEST(WaitLimits, WhoMayWaitAsLongAsItTakesIsNotListed) {
  WaitLimits limits;
  limits.add(std::nullopt, {PooledModelId(0), 1});
  EXPECT_EQ(limits.next(), std::nullopt);
  limits.remove(std::nullopt, {PooledModelId(0), 1});
  EXPECT_EQ(limits.take(at(1000)), std::nullopt);
}

// Against a list that is looked through as a whole, in every order of coming, leaving and time.
TEST(WaitLimits, AsIfAllWereLookedThrough) {
  const uint64_t seed = 1;
  SCOPED_TRACE(seed);
  Random random(seed);
  WaitLimits limits;
  std::map<Waiter, TimePoint> all;
  const auto next = [&] {
    std::optional<TimePoint> least;
    for (const auto& [waiter, until] : all)
      least = least ? std::min(*least, until) : until;
    return least;
  };
  uint64_t now = 0;
  for (uint64_t number = 0; number < 2000; ++number) {
    const Waiter come{PooledModelId(static_cast<uint32_t>(random.below(3))), number};
    const TimePoint until = at(now + random.below(30));
    limits.add(until, come);
    all.emplace(come, until);
    if (random.below(3) == 0) {
      auto leaves = all.begin();
      std::advance(leaves, static_cast<int64_t>(random.below(all.size())));
      limits.remove(leaves->second, leaves->first);
      all.erase(leaves);
    }
    ASSERT_EQ(limits.next(), next());
    now += random.below(4);
    TimePoint before{};
    while (const auto waiter = limits.take(at(now))) {
      const auto found = all.find(*waiter);
      ASSERT_NE(found, all.end());
      EXPECT_LE(found->second, at(now));
      EXPECT_LE(before, found->second) << "those first who may wait least";
      before = found->second;
      all.erase(found);
    }
    for (const auto& [waiter, limit] : all)
      ASSERT_GT(limit, at(now)) << waiter.number;
  }
}

}  // namespace
}  // namespace windrow::engine
