// offer(): a request is admitted or turned away at once, and taken out again when its client
// leaves.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/testing/manual_clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/held_backend.h"
#include "dispatch/testing/manual_waker.h"

namespace windrow::dispatch {
namespace {

using std::chrono::seconds;
using testing::HeldBackend;

constexpr size_t kNormal = 1;

// One dispatcher on a clock that the test moves.
struct Rig {
  explicit Rig(DispatchOptions options)
      : dispatcher({{.backend = &backend}}, options, clock, waker) {}

  std::optional<ItemId> offer(WorkItem item = {.priority = Priority::kNormal}) {
    return dispatcher.offer({}, item, 0,
                            [&](DispatchResult result) { ends.push_back(std::move(result)); });
  }

  llm::Failure failure(size_t end) const { return std::get<llm::Failure>(ends.at(end).outcome); }

  std::vector<DispatchResult> ends;
  HeldBackend backend;
  windrow::testing::ManualClock clock;
  testing::ManualWaker waker{clock};
  Dispatcher dispatcher;
};

TEST(DispatcherOffer, LetsInWhatFitsAndAsManyAsMayWait) {
  Rig rig({.in_flight_max = 2, .waiting_max = 3});
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(rig.offer());
  EXPECT_FALSE(rig.offer());
  EXPECT_EQ(rig.backend.held(), 2U);
  EXPECT_EQ(rig.dispatcher.queue().waiting.at(kNormal), 3);
  rig.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(rig.offer());
  EXPECT_FALSE(rig.offer());
  rig.dispatcher.cancel_all();
  EXPECT_EQ(rig.ends.size(), 6U);
}

TEST(DispatcherOffer, LowerPrioritiesKeepNoRequestOut) {
  Rig rig({.in_flight_max = 1, .waiting_max = 2});
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(rig.offer({.priority = Priority::kBatch}));
  EXPECT_FALSE(rig.offer({.priority = Priority::kBatch}));
  EXPECT_TRUE(rig.offer({.priority = Priority::kInteractive}));
  EXPECT_TRUE(rig.offer({.priority = Priority::kNormal}));
  EXPECT_FALSE(rig.offer({.priority = Priority::kNormal}));
  EXPECT_TRUE(rig.offer({.priority = Priority::kInteractive}));
  EXPECT_FALSE(rig.offer({.priority = Priority::kInteractive}));
  rig.dispatcher.cancel_all();
}

TEST(DispatcherOffer, AnEqualRequestTakesNoPlace) {
  Rig rig({.in_flight_max = 1});
  const WorkItem same{.same_answer = Hash128{1, 1}};
  EXPECT_TRUE(rig.offer(same));
  EXPECT_FALSE(rig.offer());
  EXPECT_TRUE(rig.offer(same));
  EXPECT_FALSE(rig.offer({.lane = 1, .same_answer = Hash128{1, 1}}));
  rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(rig.ends.size(), 2U);
}

TEST(DispatcherOffer, WhatIsTurnedAwayIsNotReadAhead) {
  Rig rig({.in_flight_max = 1, .waiting_max = 1});
  EXPECT_TRUE(rig.offer());
  EXPECT_TRUE(rig.offer());
  EXPECT_FALSE(rig.offer());
  EXPECT_EQ(rig.backend.read_ahead_count(), 2);
  rig.dispatcher.stop_admitting();
  rig.backend.answer_next(llm::Answer{});
  EXPECT_FALSE(rig.offer());
  EXPECT_EQ(rig.backend.read_ahead_count(), 2);
  rig.dispatcher.cancel_all();
}

TEST(DispatcherOffer, TheBackendLearnsHowUrgentItIs) {
  Rig rig({.in_flight_max = 3});
  for (const Priority priority : {Priority::kBatch, Priority::kInteractive, Priority::kNormal})
    EXPECT_TRUE(rig.offer({.priority = priority}));
  EXPECT_EQ(rig.backend.priorities(),
            (std::vector{Priority::kBatch, Priority::kInteractive, Priority::kNormal}));
  rig.dispatcher.cancel_all();
}

TEST(DispatcherOffer, NoRequestIsAdmittedAfterwards) {
  Rig rig({.in_flight_max = 1});
  rig.dispatcher.stop_admitting();
  EXPECT_FALSE(rig.offer());
  EXPECT_TRUE(rig.ends.empty());
}

TEST(DispatcherOffer, TheQueueSaysHowManyWaitAndHowLong) {
  Rig rig({.in_flight_max = 1, .waiting_max = 8});
  ASSERT_TRUE(rig.offer());
  EXPECT_EQ(rig.dispatcher.queue().waiting, (std::array<int32_t, 3>{}));
  rig.clock.advance(seconds(1));
  ASSERT_TRUE(rig.offer({.priority = Priority::kBatch}));
  rig.clock.advance(seconds(2));
  ASSERT_TRUE(rig.offer({.priority = Priority::kInteractive}));
  ASSERT_TRUE(rig.offer({.priority = Priority::kBatch}));
  rig.clock.advance(seconds(3));
  const QueueReading reading = rig.dispatcher.queue();
  EXPECT_EQ(reading.waiting, (std::array<int32_t, 3>{1, 0, 2}));
  EXPECT_EQ(reading.oldest_age, (std::array<Duration, 3>{seconds(3), Duration{}, seconds(5)}));
  rig.backend.answer_next(llm::Answer{});  // the urgent one goes
  rig.backend.answer_next(llm::Answer{});  // the older one
  EXPECT_EQ(rig.dispatcher.queue().waiting, (std::array<int32_t, 3>{0, 0, 1}));
  EXPECT_EQ(rig.dispatcher.queue().oldest_age.at(2), seconds(3));
  rig.dispatcher.cancel_all();
}

TEST(DispatcherOffer, WhatIsTooLateIsNotSent) {
  Rig rig({.in_flight_max = 1, .waiting_max = 8});
  ASSERT_TRUE(rig.offer());
  ASSERT_TRUE(rig.offer({.deadline = rig.clock.now() + seconds(5)}));
  ASSERT_TRUE(rig.waker.jump());
  ASSERT_EQ(rig.ends.size(), 1U);
  EXPECT_EQ(rig.failure(0).status, 408);
  EXPECT_EQ(rig.failure(0).code, "deadline_exceeded");
  EXPECT_EQ(rig.ends.front().attempts, 0);
  EXPECT_EQ(rig.backend.held(), 1U);
  rig.backend.answer_next(llm::Answer{});
}

TEST(DispatcherOffer, ARequestThatIsCancelledWhileItWaitsEndsAtOnce) {
  Rig rig({.in_flight_max = 1, .waiting_max = 8});
  ASSERT_TRUE(rig.offer());
  const auto second = rig.offer();
  rig.dispatcher.cancel(*second);
  ASSERT_EQ(rig.ends.size(), 1U);
  EXPECT_EQ(rig.failure(0).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(rig.dispatcher.queue().waiting, (std::array<int32_t, 3>{}));
  rig.dispatcher.cancel(*second);
  rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(rig.ends.size(), 2U);
}

}  // namespace
}  // namespace windrow::dispatch
