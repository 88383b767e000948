#include "base/uncaught.h"

#include <gtest/gtest.h>

#include <csignal>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace windrow {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

std::system_error refused(std::errc code) {
  return std::system_error(std::make_error_code(code));
}

TEST(UncaughtDeath, WhatTheSystemIsShortOfIsNoDefect) {
  EXPECT_EXIT(end_on(std::bad_alloc(), "x"), ExitedWithCode(kExitShortage),
              "^windrow: out of memory: .*\nwindrow: .*ulimit -v.*continues\n$");
  EXPECT_EXIT(end_on(refused(std::errc::resource_unavailable_try_again), "x"),
              ExitedWithCode(kExitShortage),
              "no further thread\nwindrow: .*ulimit -u.*continues\n$");
  EXPECT_EXIT(end_on(refused(std::errc::not_enough_memory), "x"), ExitedWithCode(kExitShortage),
              "out of memory");
  EXPECT_EXIT(end_on(refused(std::errc::too_many_files_open), "x"), ExitedWithCode(kExitShortage),
              "ulimit -n");
}

TEST(UncaughtDeath, EverythingElseIsOne) {
  EXPECT_EXIT(end_on(std::out_of_range("at 7"), "the reader thread of a job"),
              KilledBySignal(SIGABRT),
              "internal error: the reader thread of a job ended early: at 7\n.*a defect");
}

TEST(UncaughtDeath, AThreadWithoutACatchEndsInTheSameWay) {
  const auto thread_that_throws = [] {
    end_on_uncaught();
    std::thread([] { throw std::bad_alloc(); }).join();
  };
  EXPECT_EXIT(thread_that_throws(), ExitedWithCode(kExitShortage), "out of memory");
}

}  // namespace
}  // namespace windrow
