#include "engine/manager/waiting_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>

#include "base/testing/eventually.h"
#include "base/testing/manual_clock.h"

namespace windrow::engine {
namespace {

using std::chrono::seconds;

constexpr ModelId kA{0};
constexpr ModelId kB{1};

class WaitingCallsTest : public ::testing::Test {
 protected:
  WaitingCalls::Owner owner() {
    return {.cancelled =
                [this](ModelId model, llm::PendingId call) {
                  if (auto taken = waiting_->take(model, call))
                    WaitingCalls::end(*std::move(taken), {.code = "cancelled"});
                },
            .admit =
                [](ModelId model, llm::BackendCall, const WaitingCalls::Done& done) {
                  done(llm::Answer{.choices = {{.text = std::to_string(model.value())}}});
                },
            .tick =
                [this] {
                  ++ticks_;
                  waiting_->tick_at(std::nullopt);
                }};
  }

  std::future<llm::Outcome> add(ModelId model, llm::BackendCall call = llm::plain_call({})) {
    auto promise = std::make_shared<std::promise<llm::Outcome>>();
    std::future<llm::Outcome> outcome = promise->get_future();
    const llm::PendingId id = waiting_->add(model, std::move(call), [promise](llm::Outcome ended) {
      promise->set_value(std::move(ended));
    });
    waiting_->watch(model, id);
    return outcome;
  }

  // The model that a call was admitted to, or the code of its failure.
  static std::string text(std::future<llm::Outcome> future) {
    const llm::Outcome outcome = future.get();
    if (const auto* answer = std::get_if<llm::Answer>(&outcome)) return answer->choices.at(0).text;
    return std::get<llm::Failure>(outcome).code;
  }

  windrow::testing::ManualClock clock_;
  std::atomic<int> ticks_ = 0;
  std::unique_ptr<WaitingCalls> waiting_ = std::make_unique<WaitingCalls>(2, owner(), clock_);
};

TEST_F(WaitingCallsTest, AreAdmittedOrRefusedByModel) {
  auto first = add(kA);
  auto second = add(kA);
  auto other = add(kB);
  EXPECT_EQ(waiting_->size(kA), 2);
  waiting_->admit_all(kA);
  EXPECT_EQ(text(std::move(first)), "0");
  EXPECT_EQ(text(std::move(second)), "0");
  EXPECT_EQ(waiting_->size(kA), 0);
  EXPECT_EQ(waiting_->size(kB), 1);
  waiting_->refuse_all(kB, {.code = "broken"});
  EXPECT_EQ(text(std::move(other)), "broken");
}

TEST_F(WaitingCallsTest, OneThatIsCancelledLeavesAtOnce) {
  std::stop_source stop;
  llm::BackendCall call = llm::plain_call({});
  call.unwanted = stop.get_token();
  call.load_wait = std::make_shared<llm::LoadWait>();
  const std::shared_ptr<llm::LoadWait> wait = call.load_wait;
  auto outcome = add(kA, std::move(call));
  EXPECT_TRUE(wait->waits);
  stop.request_stop();
  EXPECT_EQ(text(std::move(outcome)), "cancelled");
  EXPECT_FALSE(wait->waits);
  EXPECT_EQ(waiting_->size(kA), 0);
}

TEST_F(WaitingCallsTest, OneThatHasWaitedTooLongIsFoundByItsLimit) {
  llm::BackendCall call = llm::plain_call({});
  call.load_wait = std::make_shared<llm::LoadWait>();
  call.load_wait->until = TimePoint(seconds(5));
  auto outcome = add(kB, std::move(call));
  EXPECT_EQ(waiting_->next_late(), TimePoint(seconds(5)));
  EXPECT_FALSE(waiting_->take_late(TimePoint(seconds(4))).has_value());
  auto late = waiting_->take_late(TimePoint(seconds(5)));
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->model, kB);
  waiting_->refuse(*std::move(late), {.code = "late"});
  EXPECT_EQ(text(std::move(outcome)), "late");
}

TEST_F(WaitingCallsTest, TicksAtItsTime) {
  waiting_->wake_by(TimePoint(seconds(100)));
  EXPECT_EQ(ticks_, 0);
  waiting_->wake_by(TimePoint{});
  windrow::testing::eventually([&] { return ticks_.load(); }, 1);
  waiting_->wake_now();
  windrow::testing::eventually([&] { return ticks_.load(); }, 2);
}

TEST_F(WaitingCallsTest, WhatWasAdmittedIsHandedOverBeforeTheEnd) {
  auto outcome = add(kA);
  waiting_->admit_all(kA);
  waiting_->stop();
  EXPECT_EQ(text(std::move(outcome)), "0");
}

}  // namespace
}  // namespace windrow::engine
