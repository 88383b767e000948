#include "api/calls/ordered_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <map>
#include <mutex>
#include <vector>

#include "base/random.h"

namespace windrow::api {
namespace {

using Length = CallWorkers::Length;

TEST(OrderedExecutor, ALaneKeepsItsOrderWhateverTheLengths) {
  CallWorkers workers(2);
  OrderedExecutor reads(workers);
  std::latch entered(1);
  std::latch released(1);
  std::latch other(1);
  std::mutex mutex;
  std::vector<int> order;
  const auto note = [&](int number) {
    const std::scoped_lock lock(mutex);
    order.push_back(number);
  };
  reads.post(
      7,
      [&] {
        entered.count_down();
        released.wait();
        note(1);
      },
      Length::kLong);
  std::latch last(1);
  reads.post(
      7,
      [&] {
        note(2);
        last.count_down();
      },
      Length::kShort);
  entered.wait();
  // A worker is free, and takes what is of another lane or of none.
  reads.post(8, [&] { other.count_down(); }, Length::kShort);
  other.wait();
  std::latch none(1);
  reads.post(0, [&] { none.count_down(); }, Length::kShort);
  none.wait();
  released.count_down();
  last.wait();
  workers.stop();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(OrderedExecutor, ManyLanesManyThreads) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  CallWorkers workers(4);
  OrderedExecutor reads(workers);
  std::mutex mutex;
  std::map<uint64_t, std::vector<int>> order;
  std::latch all(2000);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t lane = random.below(6);
    reads.post(
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
  workers.stop();
  for (uint64_t lane = 1; lane < 6; ++lane)
    EXPECT_TRUE(std::ranges::is_sorted(order[lane])) << lane;
}

}  // namespace
}  // namespace windrow::api
