#include "async/ordered_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <map>
#include <mutex>
#include <vector>

#include "base/random.h"

namespace windrow::async {
namespace {

using Length = Executor::Length;

TEST(OrderedExecutor, ALaneKeepsItsOrderWhateverTheLengths) {
  Executor executor(2);
  OrderedExecutor lanes(executor);
  std::latch entered(1);
  std::latch released(1);
  std::latch other(1);
  std::mutex mutex;
  std::vector<int> order;
  const auto note = [&](int number) {
    const std::scoped_lock lock(mutex);
    order.push_back(number);
  };
  lanes.post(
      7,
      [&] {
        entered.count_down();
        released.wait();
        note(1);
      },
      Length::kLong);
  std::latch last(1);
  lanes.post(
      7,
      [&] {
        note(2);
        last.count_down();
      },
      Length::kShort);
  entered.wait();
  // The other thread runs tasks of other lanes and of none.
  lanes.post(8, [&] { other.count_down(); }, Length::kShort);
  other.wait();
  std::latch none(1);
  lanes.post(0, [&] { none.count_down(); }, Length::kShort);
  none.wait();
  released.count_down();
  last.wait();
  executor.stop();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(OrderedExecutor, ManyLanesManyThreads) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  Executor executor(4);
  OrderedExecutor lanes(executor);
  std::mutex mutex;
  std::map<uint64_t, std::vector<int>> order;
  std::latch all(2000);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t lane = random.below(6);
    lanes.post(
        lane,
        [&, lane, i] {
          {
            const std::scoped_lock lock(mutex);
            order[lane].push_back(i);
          }
          all.count_down();
        },
        random.chance(0.3) ? Length::kLong : Length::kShort);
  }
  all.wait();
  executor.stop();
  for (uint64_t lane = 1; lane < 6; ++lane)
    EXPECT_TRUE(std::ranges::is_sorted(order[lane])) << lane;
}

}  // namespace
}  // namespace windrow::async
