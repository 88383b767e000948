#include "async/in_flight_counter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace windrow::async {
namespace {

TEST(InFlightCounter, WaitsUntilTheLastHasLeft) {
  InFlightCounter counter;
  counter.wait_for_none();
  counter.enter();
  counter.enter();
  std::atomic<int> left = 0;
  std::jthread leaver([&] {
    for (int i = 0; i < 2; ++i) {
      ++left;
      counter.leave();
    }
  });
  counter.wait_for_none();
  EXPECT_EQ(left, 2);
}

}  // namespace
}  // namespace windrow::async
