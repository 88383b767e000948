#include "dispatch/capacity_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "dispatch/dispatcher.h"
#include "dispatch/testing/held_backend.h"

namespace windrow::dispatch {
namespace {

TEST(CapacityGate, HalfOfWhatWaitsHasToBeGone) {
  EXPECT_FALSE(is_worth_waking(1, 10, 9));
  EXPECT_FALSE(is_worth_waking(5, 10, 5));
  EXPECT_TRUE(is_worth_waking(6, 10, 4));
  EXPECT_FALSE(is_worth_waking(5, 11, 6));
  EXPECT_TRUE(is_worth_waking(6, 11, 5));
}

TEST(CapacityGate, WhereNothingWaitsAnyRoomIsEnough) {
  EXPECT_TRUE(is_worth_waking(1, 10, 0));
  EXPECT_TRUE(is_worth_waking(1, 0, 0));
  EXPECT_TRUE(is_worth_waking(1, 1, 1)) << "half of one is none";
}

TEST(CapacityGate, WithoutRoomNoSubmitterIsWoken) {
  EXPECT_FALSE(is_worth_waking(0, 10, 0));
  EXPECT_FALSE(is_worth_waking(0, 0, 0));
  EXPECT_FALSE(is_worth_waking(-3, 0, 0));
}

// However full it is when a submitter begins to wait, and in whatever steps capacity is freed, no
// submitter waits for ever: once all requests are answered, every submitter has been let in.
TEST(CapacityGate, NoSubmitterWaitsForEver) {
  for (const int32_t waiting_max : {0, 1, 2, 3, 10}) {
    testing::HeldBackend backend;
    Dispatcher dispatcher(backend, {.in_flight_max = 2, .waiting_max = waiting_max});
    constexpr int kRequests = 60;
    int ended = 0;
    std::jthread submitter([&] {
      for (int i = 0; i < kRequests; ++i)
        EXPECT_TRUE(dispatcher.submit({}, [&](const DispatchResult&) { ++ended; }));
    });
    for (int i = 0; i < kRequests; ++i)
      backend.answer_next(llm::Answer{});
    submitter.join();
    dispatcher.wait_idle();
    EXPECT_EQ(ended, kRequests) << waiting_max;
  }
}

TEST(CapacityGate, ASubmitterSleepsThroughTheFirstHalf) {
  testing::HeldBackend backend;
  Dispatcher dispatcher(backend, {.in_flight_max = 2, .waiting_max = 100});
  const auto nothing = [](const DispatchResult&) {};
  for (int i = 0; i < 102; ++i)
    ASSERT_TRUE(dispatcher.submit({}, nothing));
  std::atomic<bool> is_in = false;
  std::jthread submitter([&] {
    EXPECT_TRUE(dispatcher.submit({}, nothing));
    is_in = true;
  });
  // It waits when it has nothing else to do.
  while (dispatcher.submitters_waiting() == 0)
    std::this_thread::yield();
  for (int i = 0; i < 50; ++i) {
    backend.answer_next(llm::Answer{});
    std::this_thread::yield();
  }
  EXPECT_EQ(dispatcher.submitters_waiting(), 1);
  EXPECT_FALSE(is_in);
  backend.answer_next(llm::Answer{});
  submitter.join();
  for (int i = 0; i < 52; ++i)
    backend.answer_next(llm::Answer{});
}

}  // namespace
}  // namespace windrow::dispatch
