#include "batches/batch_state.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace windrow::batches {
namespace {

using enum BatchStatus;
using enum BatchEvent;

constexpr int64_t kNow = 1'800'000'000;

constexpr std::array<BatchStatus, 8> kAll = {kValidating, kFailed,  kInProgress, kFinalizing,
                                             kCompleted,  kExpired, kCancelling, kCancelled};
constexpr std::array<BatchEvent, 6> kEvents = {kChecked,  kFaulty,    kCancel,
                                               kTimeOver, kRowsEnded, kFilesMade};

// Every event in every state: what is not here changes nothing.
const std::map<std::pair<BatchStatus, BatchEvent>, BatchStatus> kTable = {
    {{kValidating, kChecked}, kInProgress},  {{kValidating, kFaulty}, kFailed},
    {{kValidating, kCancel}, kCancelling},   {{kInProgress, kCancel}, kCancelling},
    {{kInProgress, kTimeOver}, kFinalizing}, {{kInProgress, kRowsEnded}, kFinalizing},
    {{kFinalizing, kFilesMade}, kCompleted}, {{kCancelling, kFilesMade}, kCancelled},
};

TEST(BatchState, EveryEventInEveryState) {
  for (const BatchStatus status : kAll) {
    for (const BatchEvent event : kEvents) {
      const BatchState state{.status = status, .created_at = 5, .expires_at = 9};
      const auto changed = after(state, event, kNow);
      const auto expected = kTable.find({status, event});
      ASSERT_EQ(changed.has_value(), expected != kTable.end())
          << to_string(status) << ", event " << static_cast<int>(event);
      if (!changed) continue;
      EXPECT_EQ(changed->status, expected->second);
      EXPECT_EQ(changed->time_over, event == kTimeOver);
      EXPECT_EQ(changed->created_at, 5);
      EXPECT_EQ(changed->expires_at, 9);
    }
  }
}

TEST(BatchState, ABatchPastItsTimeEndsAsExpired) {
  const BatchState state{.status = kFinalizing, .time_over = true};
  EXPECT_EQ(after(state, kFilesMade, kNow)->status, kExpired);
  for (const BatchEvent event : {kChecked, kFaulty, kCancel, kTimeOver, kRowsEnded})
    EXPECT_FALSE(after(state, event, kNow));
}

TEST(BatchState, EachStateSaysWhenItBegan) {
  BatchState state{.created_at = 1};
  state = *after(state, kChecked, 2);
  state = *after(state, kRowsEnded, 3);
  state = *after(state, kFilesMade, 4);
  EXPECT_EQ(state, (BatchState{.status = kCompleted,
                               .created_at = 1,
                               .in_progress_at = 2,
                               .finalizing_at = 3,
                               .completed_at = 4}));

  BatchState over = *after(BatchState{.status = kInProgress, .in_progress_at = 1}, kTimeOver, 2);
  over = *after(over, kFilesMade, 3);
  EXPECT_EQ(over, (BatchState{.status = kExpired,
                              .time_over = true,
                              .in_progress_at = 1,
                              .finalizing_at = 2,
                              .expired_at = 3}));

  BatchState cancelled = *after(BatchState{.status = kInProgress}, kCancel, 7);
  cancelled = *after(cancelled, kFilesMade, 8);
  EXPECT_EQ(cancelled, (BatchState{.status = kCancelled, .cancelling_at = 7, .cancelled_at = 8}));

  EXPECT_EQ(after(BatchState{}, kFaulty, 6)->failed_at, 6);
}

TEST(BatchState, FromEveryStateThereIsAWayToAnEndAndNoneOutOfIt) {
  for (const BatchStatus status : kAll) {
    std::set<BatchStatus> reached = {status};
    for (size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const BatchStatus from : std::set(reached)) {
        for (const BatchEvent event : kEvents) {
          if (const auto to = after({.status = from}, event, kNow)) reached.insert(to->status);
        }
      }
    }
    if (is_final(status)) {
      EXPECT_EQ(reached.size(), 1U) << to_string(status);
    } else {
      EXPECT_TRUE(reached.contains(kCompleted) || reached.contains(kCancelled));
    }
  }
}

TEST(BatchState, NamesAreThoseOfTheApi) {
  std::set<std::string_view> names;
  for (const BatchStatus status : kAll) {
    names.insert(to_string(status));
    EXPECT_EQ(batch_status_of(to_string(status)), status);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"validating", "failed", "in_progress", "finalizing",
                                               "completed", "expired", "cancelling", "cancelled"}));
  EXPECT_FALSE(batch_status_of("done"));
}

}  // namespace
}  // namespace windrow::batches
