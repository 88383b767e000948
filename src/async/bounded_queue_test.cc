#include "async/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace windrow::async {
namespace {

TEST(BoundedQueue, GivesValuesInOrder) {
  BoundedQueue<int> queue(10);
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(queue.push(i, 1));
  EXPECT_EQ(queue.pop(), 0);
  EXPECT_EQ(queue.pop_all(), (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(queue.cost(), 0U);
}

TEST(BoundedQueue, AnEmptyQueueTakesAValueAboveTheBound) {
  BoundedQueue<int> queue(10);
  ASSERT_TRUE(queue.push(1, 1000));
  EXPECT_EQ(queue.pop(), 1);
}

TEST(BoundedQueue, AFullQueueMakesTheMakerWaitUntilThereIsRoom) {
  BoundedQueue<int> queue(2);
  ASSERT_TRUE(queue.push(1, 2));
  std::atomic<bool> popped = false;
  std::jthread maker([&] {
    EXPECT_TRUE(queue.push(2, 2));
    EXPECT_TRUE(popped);  // room came only from the pop below
  });
  popped = true;
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 2);
}

TEST(BoundedQueue, CloseWakesEverybodyAndKeepsWhatIsInside) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.push(1, 1));
  std::jthread maker([&] { EXPECT_FALSE(queue.push(2, 1)); });
  queue.close();
  maker.join();
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_TRUE(queue.pop_all().empty());
  EXPECT_FALSE(queue.push(3, 1));
}

TEST(BoundedQueue, CarriesValuesThatOnlyMove) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  ASSERT_TRUE(queue.push(std::make_unique<int>(7), 1));
  EXPECT_EQ(**queue.pop(), 7);
}

// Longer than any test: what ends the gathering is never the time.
constexpr std::chrono::hours kLong(1);

TEST(BoundedQueue, ValuesGatherUntilItIsHalfFull) {
  BoundedQueue<int> queue(10);
  std::jthread taker([&] { EXPECT_EQ(queue.pop_all_gathered(kLong), (std::vector{1, 2, 3})); });
  ASSERT_TRUE(queue.push(1, 1));
  ASSERT_TRUE(queue.push(2, 3));
  ASSERT_TRUE(queue.push(3, 1));
}

TEST(BoundedQueue, OneThatIsHalfFullIsNotWaitedFor) {
  BoundedQueue<int> queue(10);
  ASSERT_TRUE(queue.push(1, 5));
  EXPECT_EQ(queue.pop_all_gathered(kLong), std::vector{1});
}

TEST(BoundedQueue, CloseEndsTheGathering) {
  BoundedQueue<int> queue(10);
  std::jthread taker([&] {
    EXPECT_EQ(queue.pop_all_gathered(kLong), std::vector{1});
    EXPECT_TRUE(queue.pop_all_gathered(kLong).empty());
  });
  ASSERT_TRUE(queue.push(1, 1));
  queue.close();
}

TEST(BoundedQueue, WhatGathersForLongEnoughIsHandedOut) {
  BoundedQueue<int> queue(10);
  ASSERT_TRUE(queue.push(1, 1));
  EXPECT_EQ(queue.pop_all_gathered(std::chrono::nanoseconds(1)), std::vector{1});
}

TEST(BoundedQueue, ManyMakersAndTakersLoseNothing) {
  constexpr int kMakers = 4;
  constexpr int kPerMaker = 2000;
  BoundedQueue<int> queue(16);
  std::atomic<int64_t> sum = 0;
  {
    std::vector<std::jthread> takers;
    for (int i = 0; i < 3; ++i) {
      takers.emplace_back([&] {
        while (const std::optional<int> value = queue.pop())
          sum += *value;
      });
    }
    {
      std::vector<std::jthread> makers;
      for (int maker = 0; maker < kMakers; ++maker) {
        makers.emplace_back([&] {
          for (int i = 1; i <= kPerMaker; ++i)
            EXPECT_TRUE(queue.push(i, 1));
        });
      }
    }
    queue.close();
  }
  EXPECT_EQ(sum, int64_t{kMakers} * kPerMaker * (kPerMaker + 1) / 2);
}

}  // namespace
}  // namespace windrow::async
