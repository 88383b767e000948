#include "program/trace/pass_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/testing/manual_clock.h"

namespace windrow::program {
namespace {

using std::chrono::microseconds;

TEST(PassLog, CountsEachPassOfACallWithItsWidth) {
  const testing::ManualClock clock;
  PassLog log(clock);
  const uint64_t tag = log.begin_call(1);
  log.observe({}, std::vector<llm::RowTrace>{{.tag = tag, .tokens = 10, .cached_tokens = 90},
                                             {.tokens = 500},
                                             {.tokens = 1, .is_decoding = true}});
  log.observe({}, std::vector<llm::RowTrace>{{.tokens = 1, .is_decoding = true}});
  log.observe({}, std::vector<llm::RowTrace>{{.tag = tag, .tokens = 1, .is_decoding = true}});
  const PassCounts expected{.passes = 2,
                            .rows = 2,
                            .width = 3 + 1,
                            .tokens = 11,
                            .cached_tokens = 90,
                            .decoded_tokens = 1};
  EXPECT_EQ(log.of_instance(1), expected);
  EXPECT_EQ(log.end_call(tag), expected);
  EXPECT_EQ(log.end_call(tag), PassCounts{}) << "it is not known any more";
  EXPECT_EQ(log.of_instance(1), expected) << "of calls that have ended, too";
}

TEST(PassLog, APassCountsOnceForAnInstanceHoweverManyOfItsRowsWereInIt) {
  const testing::ManualClock clock;
  PassLog log(clock);
  const uint64_t one = log.begin_call(1);
  const uint64_t other = log.begin_call(1);
  const uint64_t foreign = log.begin_call(2);
  log.observe({}, std::vector<llm::RowTrace>{{.tag = one, .tokens = 1},
                                             {.tag = other, .tokens = 1},
                                             {.tag = foreign, .tokens = 1},
                                             {.tag = one, .tokens = 1}});
  EXPECT_EQ(log.of_instance(1), (PassCounts{.passes = 1, .rows = 3, .width = 4, .tokens = 3}));
  EXPECT_EQ(log.of_instance(2), (PassCounts{.passes = 1, .rows = 1, .width = 4, .tokens = 1}));
  EXPECT_EQ(log.end_call(one), (PassCounts{.passes = 1, .rows = 2, .width = 4, .tokens = 2}));
  EXPECT_EQ(log.end_call(other), (PassCounts{.passes = 1, .rows = 1, .width = 4, .tokens = 1}));
}

TEST(PassLog, CountsNothingForCallsAndInstancesThatHaveEnded) {
  const testing::ManualClock clock;
  PassLog log(clock);
  const uint64_t tag = log.begin_call(1);
  log.forget(1);
  log.observe({}, std::vector<llm::RowTrace>{{.tag = tag, .tokens = 1}});
  EXPECT_EQ(log.of_instance(1), PassCounts{});
  EXPECT_EQ(log.end_call(tag).passes, 1);
  log.observe({}, std::vector<llm::RowTrace>{{.tag = tag, .tokens = 1}});
  EXPECT_EQ(log.of_instance(1), PassCounts{});
}

TEST(PassLog, KeepsTheNewestPassesWithTheRowsThatHaveATag) {
  testing::ManualClock clock;
  PassLog log(clock, 2);
  const uint64_t tag = log.begin_call(1);
  for (const int32_t tokens : {7, 8, 9}) {
    clock.advance(microseconds(100));
    log.observe({.duration = microseconds(60)},
                std::vector<llm::RowTrace>{{.tokens = 1}, {.tag = tag, .tokens = tokens}});
  }
  const PassLog::Kept kept = log.kept();
  EXPECT_EQ(kept.lost, 1);
  ASSERT_THAT(kept.passes, ::testing::SizeIs(2));
  EXPECT_EQ(kept.passes[0].number, 2);
  EXPECT_EQ(kept.passes[1].number, 3);
  EXPECT_EQ(kept.passes[1].end, TimePoint(microseconds(300)));
  EXPECT_EQ(kept.passes[1].duration, microseconds(60));
  EXPECT_EQ(kept.passes[1].width, 2);
  EXPECT_THAT(kept.passes[1].rows, ::testing::ElementsAre(llm::RowTrace{.tag = tag, .tokens = 9}));
}

TEST(PassLog, KeepsNoPassUnlessAsked) {
  const testing::ManualClock clock;
  PassLog log(clock);
  log.observe({}, std::vector<llm::RowTrace>{{.tag = log.begin_call(1), .tokens = 1}});
  EXPECT_THAT(log.kept().passes, ::testing::IsEmpty());
  EXPECT_EQ(log.kept().lost, 0);
}

TEST(PassLog, CallsBeginAndEndWhilePassesAreCounted) {
  const testing::ManualClock clock;
  PassLog log(clock);
  const uint64_t stays = log.begin_call(1);
  std::thread device([&] {
    for (int pass = 0; pass < 1000; ++pass)
      log.observe({}, std::vector<llm::RowTrace>{{.tag = stays, .tokens = 1}});
  });
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(log.end_call(log.begin_call(2)), PassCounts{});
  device.join();
  EXPECT_EQ(log.end_call(stays).passes, 1000);
}

}  // namespace
}  // namespace windrow::program
