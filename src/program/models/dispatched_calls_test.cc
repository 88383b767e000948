#include "program/models/dispatched_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/offer_rig.h"
#include "llm/testing/scripted_backend.h"

namespace windrow::program {
namespace {

using dispatch::testing::OfferRig;
using llm::FailureClass;
using llm::Priority;

// How calls ended, by name, in order. Thread-safe.
class CallEnds {
 public:
  DispatchedCalls::Done of(const std::string& name) {
    return [this, name](llm::Outcome outcome) {
      const std::scoped_lock lock(mutex_);
      const auto* failure = std::get_if<llm::Failure>(&outcome);
      ended_.push_back(name + (failure == nullptr                                   ? " ok"
                               : failure->failure_class == FailureClass::kCancelled ? " cancelled"
                                                                                    : " failed"));
      changed_.notify_all();
    };
  }

  // Blocks until so many have ended.
  std::vector<std::string> wait(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_.size() >= count; });
    return ended_;
  }

  std::vector<std::string> now() const {
    const std::scoped_lock lock(mutex_);
    return ended_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> ended_;
};

using Names = std::vector<std::string>;

// One slot, and nothing is queued behind it.
class DispatchedCallsTest : public ::testing::Test {
 protected:
  void ask(const std::string& name, std::stop_token unwanted = {},
           Priority priority = Priority::kBatch) {
    DispatchedCall call{.dispatcher = &rig_.dispatcher};
    call.request.model = name;
    call.item.priority = priority;
    calls_.ask(std::move(call), std::move(unwanted), ends_.of(name));
  }

  // Until the first one of a line is at the dispatcher's door.
  void wait_for_submitter() const {
    while (rig_.dispatcher.submitters_waiting() == 0)
      std::this_thread::yield();
  }

  CallEnds ends_;
  OfferRig rig_{{.in_flight_max = 1}};
  DispatchedCalls calls_;
};

TEST_F(DispatchedCallsTest, CallsOfAFullDispatcherWaitInTheirOrder) {
  for (const char* name : {"a", "b", "c", "d"})
    ask(name);
  EXPECT_EQ(calls_.waiting(), 3U);
  EXPECT_EQ(rig_.backend.names(), Names{"a"});
  for (int i = 0; i < 4; ++i)
    rig_.backend.answer_next(llm::Answer{});
  EXPECT_EQ(ends_.wait(4), (Names{"a ok", "b ok", "c ok", "d ok"}));
}

// Nothing of this object ends, so nothing of it says that there is room again.
TEST_F(DispatchedCallsTest, RoomThatOthersMakeIsSeen) {
  ASSERT_TRUE(rig_.offer("other"));
  ask("a");
  wait_for_submitter();
  EXPECT_EQ(calls_.waiting(), 1U);
  rig_.backend.answer_next(llm::Answer{});
  rig_.backend.answer_next(llm::Answer{});
  EXPECT_EQ(ends_.wait(1), Names{"a ok"});
}

TEST_F(DispatchedCallsTest, FailuresAreHandedOnAsTheyAre) {
  const llm::Failure broken{.failure_class = FailureClass::kBackend,
                            .status = 500,
                            .code = "engine_error",
                            .message = "it broke"};
  llm::Outcome got;
  DispatchedCall call{.dispatcher = &rig_.dispatcher};
  calls_.ask(std::move(call), {}, [&](llm::Outcome outcome) { got = std::move(outcome); });
  rig_.backend.answer_next(broken);
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(got));
  EXPECT_EQ(std::get<llm::Failure>(got), broken);
}

TEST_F(DispatchedCallsTest, ACallThatIsNotWantedIsNotSent) {
  std::stop_source stops;
  stops.request_stop();
  ask("a", stops.get_token());
  EXPECT_EQ(ends_.now(), Names{"a cancelled"});
  EXPECT_EQ(rig_.backend.held(), 0U);
}

TEST_F(DispatchedCallsTest, ACallInTheLineEndsAtOnce) {
  std::stop_source stops;
  ask("a");
  ask("b");
  wait_for_submitter();
  ask("c", stops.get_token());
  ask("d");
  stops.request_stop();
  EXPECT_EQ(ends_.now(), Names{"c cancelled"});
  EXPECT_EQ(calls_.waiting(), 2U);
  for (int i = 0; i < 3; ++i)
    rig_.backend.answer_next(llm::Answer{});
  EXPECT_EQ(ends_.wait(4), (Names{"c cancelled", "a ok", "b ok", "d ok"}));
}

TEST_F(DispatchedCallsTest, TheFirstOfTheLineEndsToo) {
  std::stop_source stops;
  ask("a");
  ask("b", stops.get_token());
  ask("c");
  wait_for_submitter();
  stops.request_stop();
  EXPECT_EQ(ends_.wait(1), Names{"b cancelled"});
  rig_.backend.answer_next(llm::Answer{});
  rig_.backend.answer_next(llm::Answer{});
  EXPECT_EQ(ends_.wait(3), (Names{"b cancelled", "a ok", "c ok"}));
}

TEST_F(DispatchedCallsTest, ACallThatIsOutIsToldThatItIsNotWanted) {
  std::stop_source stops;
  ask("a", stops.get_token());
  stops.request_stop();
  EXPECT_EQ(rig_.backend.unwanted(), 1);
  EXPECT_EQ(rig_.backend.end_unwanted(), 1U);
  EXPECT_EQ(ends_.now(), Names{"a cancelled"});
}

// The stop comes in the middle of the call's way to its backend, when its name is not known yet.
TEST_F(DispatchedCallsTest, AStopOnTheWayIsNotMissed) {
  std::stop_source stops;
  rig_.backend.before_submit = [&] { stops.request_stop(); };
  ask("a", stops.get_token());
  EXPECT_EQ(rig_.backend.end_unwanted(), 1U);
  EXPECT_EQ(ends_.now(), Names{"a cancelled"});
}

TEST_F(DispatchedCallsTest, NothingIsTakenOnceTheDispatcherAdmitsNothing) {
  ask("a");
  ask("b");
  ask("c");
  wait_for_submitter();
  rig_.dispatcher.stop_admitting();
  EXPECT_EQ(ends_.wait(2), (Names{"b cancelled", "c cancelled"}));
  ask("d");
  EXPECT_EQ(ends_.wait(3).back(), "d cancelled");
  rig_.backend.answer_next(llm::Answer{});
  EXPECT_EQ(ends_.wait(4).back(), "a ok");
}

TEST_F(DispatchedCallsTest, ADoneMayAsk) {
  DispatchedCall call{.dispatcher = &rig_.dispatcher};
  calls_.ask(std::move(call), {}, [this](const llm::Outcome&) { ask("next"); });
  rig_.backend.answer_next(llm::Answer{});
  rig_.backend.answer_next(llm::Answer{});
  EXPECT_EQ(ends_.wait(1), Names{"next ok"});
}

TEST(DispatchedCallsLines, WhatIsMoreUrgentDoesNotWaitBehindBatches) {
  CallEnds ends;
  OfferRig rig({.in_flight_max = 1, .waiting_max = 2});
  DispatchedCalls calls;
  const auto ask = [&](const std::string& name, Priority priority) {
    DispatchedCall call{.dispatcher = &rig.dispatcher};
    call.request.model = name;
    call.item.priority = priority;
    calls.ask(std::move(call), {}, ends.of(name));
  };
  for (const char* name : {"a", "b", "c", "d", "e"})
    ask(name, Priority::kBatch);
  EXPECT_EQ(calls.waiting(), 2U);
  ask("urgent", Priority::kNormal);
  EXPECT_EQ(calls.waiting(), 2U);
  rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(rig.backend.names(), Names{"urgent"});
  for (int i = 0; i < 5; ++i)
    rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(ends.wait(6).size(), 6U);
}

TEST(DispatchedCallsLines, AFullDispatcherHoldsUpNoOther) {
  CallEnds ends;
  OfferRig full({.in_flight_max = 1});
  OfferRig free({.in_flight_max = 1});
  DispatchedCalls calls;
  const auto ask = [&](const std::string& name, OfferRig& rig) {
    DispatchedCall call{.dispatcher = &rig.dispatcher};
    call.request.model = name;
    calls.ask(std::move(call), {}, ends.of(name));
  };
  ask("a", full);
  ask("b", full);
  ask("c", free);
  ask("d", free);
  free.backend.answer_next(llm::Answer{});
  free.backend.answer_next(llm::Answer{});
  EXPECT_EQ(ends.wait(2), (Names{"c ok", "d ok"}));
  full.backend.answer_next(llm::Answer{});
  full.backend.answer_next(llm::Answer{});
  EXPECT_EQ(ends.wait(4).size(), 4U);
}

// Threads that ask for more than there is room for and stop some of it at any moment, one by one
// and many with one source; the backend answers meanwhile, and Dones ask again.
TEST(DispatchedCallsSoak, EachCallEndsOnceWhateverIsStoppedWhen) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 300;
  llm::testing::ScriptedBackend backend(
      [](const llm::Request&) -> llm::Outcome { return llm::Answer{}; },
      {.rows_max = 2, .order_seed = 7});
  dispatch::Dispatcher dispatcher(backend, {.in_flight_max = 3, .waiting_max = 2});
  std::atomic<int> answered = 0;
  std::atomic<int> cancelled = 0;
  std::vector<std::atomic<int>> ends(kThreads * kCalls);
  {
    DispatchedCalls calls;
    std::latch begin(kThreads);
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Random random(static_cast<uint64_t>(t) + 1);
        std::stop_source shared;
        std::vector<std::stop_source> own(kCalls);
        begin.arrive_and_wait();
        for (int i = 0; i < kCalls; ++i) {
          DispatchedCall call{.dispatcher = &dispatcher};
          call.request.chat_tokens.assign(20, i);
          call.item.priority = random.chance(0.3) ? Priority::kNormal : Priority::kBatch;
          const bool many = random.chance(0.5);
          calls.ask(std::move(call), (many ? shared : own[static_cast<size_t>(i)]).get_token(),
                    [&, number = static_cast<size_t>(t * kCalls + i)](const llm::Outcome& outcome) {
                      ++ends[number];
                      const auto* failure = std::get_if<llm::Failure>(&outcome);
                      if (failure == nullptr) {
                        ++answered;
                      } else if (failure->failure_class == FailureClass::kCancelled) {
                        ++cancelled;
                      }
                    });
          if (random.chance(0.3)) own[random.below(static_cast<uint64_t>(i) + 1)].request_stop();
          if (random.chance(0.03)) {
            shared.request_stop();
            shared = {};
          }
        }
      });
    }
    threads.clear();
  }
  for (const std::atomic<int>& count : ends)
    ASSERT_EQ(count, 1);
  EXPECT_EQ(answered + cancelled, kThreads * kCalls);
  EXPECT_GT(answered, 0);
  EXPECT_GT(cancelled, 0);
  dispatcher.wait_idle();  // it would wait forever for a request that was lost
}

}  // namespace
}  // namespace windrow::program
