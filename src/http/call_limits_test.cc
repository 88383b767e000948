#include "http/call_limits.h"

#include <gtest/gtest.h>

namespace windrow::http {
namespace {

using std::chrono::seconds;

TimePoint at(int64_t second) {
  return TimePoint(seconds(second));
}

TEST(Limits, TheFirstOneInTimeIsDue) {
  const Limits limits{.connect = seconds(5), .idle = seconds(3), .total = seconds(60)};
  DueLimit due = due_limit(limits, {.start = at(100), .progress = at(100)});
  EXPECT_EQ(due.at, at(105));
  EXPECT_EQ(due.kind, LimitKind::kConnect);

  due = due_limit(limits, {.start = at(100), .progress = at(110), .connected = true});
  EXPECT_EQ(due.at, at(113));
  EXPECT_EQ(due.kind, LimitKind::kIdle);

  due = due_limit(limits, {.start = at(100), .progress = at(159), .connected = true});
  EXPECT_EQ(due.at, at(160));
  EXPECT_EQ(due.kind, LimitKind::kTotal);
}

TEST(Limits, NoneIsNever) {
  const Limits limits{.connect = {}};
  EXPECT_EQ(due_limit(limits, {.start = at(100)}).at, TimePoint::max());
  EXPECT_EQ(due_limit(limits, {.start = at(100), .connected = true}).at, TimePoint::max());
}

TEST(Limits, TheLargestDurationIsNeverToo) {
  const Limits limits{
      .connect = Duration::max(), .idle = Duration::max(), .total = Duration::max()};
  EXPECT_EQ(due_limit(limits, {.start = at(100)}).at, TimePoint::max());
}

// Its server waits for us.
TEST(Limits, AReplyThatWaitsForRoomHereIsNotLate) {
  const Limits limits{
      .connect = {}, .idle = std::chrono::seconds(5), .total = std::chrono::seconds(60)};
  CallTimes times{.start = at(100), .progress = at(110), .connected = true};
  times.paused = at(112);
  EXPECT_EQ(due_limit(limits, times).at, TimePoint::max());
  resume_times(times, at(1112));
  EXPECT_EQ(due_limit(limits, times).at, at(1117));
  EXPECT_EQ(due_limit({.connect = {}, .total = std::chrono::seconds(60)}, times).at, at(1160));
}

}  // namespace
}  // namespace windrow::http
