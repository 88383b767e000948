#include "app/process/interrupts.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <csignal>
#include <latch>

namespace windrow::app {
namespace {

TEST(InterruptWatch, EachInterruptIsACall) {
  InterruptWatch watch;
  for (int i = 0; i < 3; ++i) {
    std::latch called(1);
    watch.set([&] { called.count_down(); });
    ASSERT_EQ(kill(getpid(), SIGINT), 0);
    called.wait();
    watch.set({});
  }
}

}  // namespace
}  // namespace windrow::app
