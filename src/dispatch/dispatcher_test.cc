#include "dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/testing/manual_clock.h"
#include "dispatch/testing/held_backend.h"
#include "dispatch/testing/manual_waker.h"

namespace windrow::dispatch {
namespace {

using testing::failure;
using testing::HeldBackend;

TEST(Dispatcher, KeepsNoMoreInFlightThanTheBackendWants) {
  HeldBackend backend;
  Dispatcher dispatcher(backend, {});
  std::atomic<int> ended = 0;
  const auto count = [&](const DispatchResult&) { ++ended; };
  ASSERT_TRUE(dispatcher.submit({}, count));
  ASSERT_TRUE(dispatcher.submit({}, count));
  std::jthread third([&] { EXPECT_TRUE(dispatcher.submit({}, count)); });
  EXPECT_EQ(backend.held(), 2U);
  backend.answer_next(llm::Answer{});
  third.join();  // only the answer made room
  EXPECT_EQ(backend.held(), 2U);
  backend.answer_next(llm::Answer{});
  backend.answer_next(llm::Answer{});
  dispatcher.wait_idle();
  EXPECT_EQ(ended, 3);
}

// Reads ahead, and notes on which thread.
class ReadingBackend final : public llm::Backend {
 public:
  std::shared_ptr<const llm::ReadAhead> read_ahead(const llm::Request&) override {
    readers.push_back(std::this_thread::get_id());
    return std::make_shared<const llm::ReadAhead>();
  }
  void submit(llm::BackendCall call, Done done) override {
    EXPECT_NE(call.read_ahead, nullptr);
    waiting.push_back(std::move(done));
  }
  int32_t in_flight_target() const override { return 1; }
  llm::BackendStats stats() const override { return {}; }

  std::vector<std::thread::id> readers;
  std::vector<Done> waiting;
};

TEST(Dispatcher, HasARequestReadByTheThreadThatBringsIt) {
  ReadingBackend backend;
  Dispatcher dispatcher(backend, {.waiting_max = 4});
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(dispatcher.offer({}, {}, 0, [](const DispatchResult&) {}));
  EXPECT_EQ(backend.readers.size(), 3U) << "also those that wait";
  // Others hand over what waited.
  for (size_t i = 0; i < 3; ++i)
    std::jthread([&] { backend.waiting.at(i)(llm::Answer{}); }).join();
  dispatcher.wait_idle();
  for (const std::thread::id reader : backend.readers)
    EXPECT_EQ(reader, std::this_thread::get_id());
  EXPECT_EQ(backend.readers.size(), 3U);
}

TEST(Dispatcher, TriesTransientFailuresAgainAndNoOthers) {
  HeldBackend backend;
  Dispatcher dispatcher(backend, {.attempts_max = 3});
  std::vector<int32_t> attempts;
  const auto note = [&](const DispatchResult& result) { attempts.push_back(result.attempts); };
  ASSERT_TRUE(dispatcher.submit({}, note));
  backend.answer_next(failure(llm::FailureClass::kTransient));
  backend.answer_next(llm::Answer{});
  ASSERT_TRUE(dispatcher.submit({}, note));
  for (int i = 0; i < 3; ++i)
    backend.answer_next(failure(llm::FailureClass::kTransient));
  ASSERT_TRUE(dispatcher.submit({}, note));
  backend.answer_next(failure(llm::FailureClass::kRequest));
  EXPECT_EQ(attempts, (std::vector<int32_t>{2, 3, 1}));
}

TEST(Dispatcher, TellsWhatAllAttemptsUsed) {
  HeldBackend backend;
  Dispatcher dispatcher(backend, {.attempts_max = 3});
  DispatchResult told;
  ASSERT_TRUE(dispatcher.submit({}, [&](DispatchResult result) { told = std::move(result); }));
  llm::Failure spoilt = failure(llm::FailureClass::kTransient);
  spoilt.message = "no JSON";
  spoilt.usage = {.prompt_tokens = 10, .completion_tokens = 5, .cached_tokens = 0};
  backend.answer_next(spoilt);
  llm::Answer answer;
  answer.usage = {.prompt_tokens = 10, .completion_tokens = 7, .cached_tokens = 0};
  backend.answer_next(answer);
  EXPECT_EQ(told.attempts, 2);
  EXPECT_EQ(told.tokens, 32);
  EXPECT_EQ(told.earlier_failure, "no JSON");
}

TEST(Dispatcher, AFollowerKeepsNoRequestOut) {
  HeldBackend backend;
  Dispatcher dispatcher(backend, {});  // two at a time
  int ended = 0;
  const auto count = [&](const DispatchResult&) { ++ended; };
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(dispatcher.submit({}, {.same_answer = Hash128{1, 1}}, 0, count));
  ASSERT_TRUE(dispatcher.submit({}, count));
  EXPECT_EQ(backend.held(), 2U);
  backend.answer_next(llm::Answer{});
  EXPECT_EQ(ended, 50);
  backend.answer_next(llm::Answer{});
  EXPECT_EQ(ended, 51);
}

TEST(Dispatcher, StopAdmittingReleasesBlockedSubmitters) {
  HeldBackend backend;
  Dispatcher dispatcher(backend, {.in_flight_max = 1});
  ASSERT_TRUE(dispatcher.submit({}, [](const DispatchResult&) {}));
  std::jthread waiting([&] { EXPECT_FALSE(dispatcher.submit({}, [](const DispatchResult&) {})); });
  dispatcher.stop_admitting();
  waiting.join();
  EXPECT_EQ(dispatcher.in_flight(), 1);
  backend.answer_next(llm::Answer{});
  dispatcher.wait_idle();
}

TEST(Dispatcher, AfterCancelNothingIsTriedAgain) {
  HeldBackend backend;
  Dispatcher dispatcher(backend, {});
  int ended = 0;
  ASSERT_TRUE(dispatcher.submit({}, [&](const DispatchResult&) { ++ended; }));
  ASSERT_TRUE(dispatcher.submit({}, [&](const DispatchResult&) { ++ended; }));
  dispatcher.cancel_all();
  EXPECT_EQ(ended, 2);
  llm::FailureClass last = llm::FailureClass::kRequest;
  ASSERT_TRUE(dispatcher.submit({}, [&](const DispatchResult& result) {
    last = std::get<llm::Failure>(result.outcome).failure_class;
  }));
  backend.answer_next(failure(llm::FailureClass::kTransient));
  EXPECT_EQ(last, llm::FailureClass::kCancelled);  // another attempt might have met no failure
}

// The order of events that a retry and a cancel of the same instant may come in: the retry was
// decided, the cancel found nothing in the backend, and then the request got there.
class CancelDuringSubmit : public ::testing::TestWithParam<void (Dispatcher::*)()> {
 protected:
  // A call that a failed test left pending must not keep the destructors waiting.
  void TearDown() override { backend_.end_all(); }

  // Lets the cancel happen in the middle of the given submit.
  void cancel_within(int submit) {
    backend_.before_submit = [this, submit, submits = 0]() mutable {
      if (++submits != submit) return;
      dispatcher_.stop_admitting();
      (dispatcher_.*GetParam())();
    };
  }

  bool submit() {
    return dispatcher_.submit({},
                              [this](const DispatchResult& result) { ends_.push_back(result); });
  }

  llm::FailureClass last() const {
    return std::get<llm::Failure>(ends_.back().outcome).failure_class;
  }

  HeldBackend backend_;
  Dispatcher dispatcher_{backend_, {}};
  std::vector<DispatchResult> ends_;
};

TEST_P(CancelDuringSubmit, ARetryDoesNotEscape) {
  cancel_within(2);
  ASSERT_TRUE(submit());
  backend_.answer_next(failure(llm::FailureClass::kTransient));
  ASSERT_EQ(ends_.size(), 1U) << "it is in the backend and nobody will cancel it";
  EXPECT_EQ(last(), llm::FailureClass::kCancelled);
  EXPECT_EQ(ends_.back().attempts, 2);
  dispatcher_.wait_idle();
}

TEST_P(CancelDuringSubmit, AFirstAttemptDoesNotEscape) {
  cancel_within(1);
  ASSERT_TRUE(submit());
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_EQ(last(), llm::FailureClass::kCancelled);
  EXPECT_FALSE(submit());
  dispatcher_.wait_idle();
}

INSTANTIATE_TEST_SUITE_P(EitherCancel, CancelDuringSubmit,
                         ::testing::Values(&Dispatcher::cancel_waiting, &Dispatcher::cancel_all),
                         [](const auto& tested) {
                           return tested.param == &Dispatcher::cancel_all ? "All" : "Waiting";
                         });

// Several upstreams, retries that wait, a clock that the test moves.
class DispatcherOfTwo : public ::testing::Test {
 protected:
  bool submit(WorkItem item = {}) {
    return dispatcher_.submit({}, item, 0,
                              [this](const DispatchResult& result) { ends_.push_back(result); });
  }

  bool last_is_answer() const { return std::holds_alternative<llm::Answer>(ends_.back().outcome); }

  windrow::testing::ManualClock clock_;
  testing::ManualWaker waker_{clock_};
  HeldBackend first_;
  HeldBackend second_;
  Dispatcher dispatcher_{
      {{.backend = &first_}, {.backend = &second_}},
      {.in_flight_max = 1, .waiting_max = 4, .backoff_base = std::chrono::seconds(10)},
      clock_,
      waker_};
  std::vector<DispatchResult> ends_;
};

TEST_F(DispatcherOfTwo, FillsBothAndThenLetsRowsWait) {
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(submit());
  EXPECT_EQ(first_.held(), 1U);
  EXPECT_EQ(second_.held(), 1U);
  EXPECT_EQ(dispatcher_.in_flight(), 6);
  EXPECT_EQ(dispatcher_.in_flight_max(), 6);
  for (int i = 0; i < 3; ++i) {
    first_.answer_next(llm::Answer{});
    second_.answer_next(llm::Answer{});
  }
  EXPECT_EQ(ends_.size(), 6U);
  dispatcher_.wait_idle();
}

TEST_F(DispatcherOfTwo, ARetryWaitsForItsTime) {
  ASSERT_TRUE(submit());
  first_.answer_next(failure(llm::FailureClass::kTransient));
  EXPECT_EQ(first_.held() + second_.held(), 0U);
  ASSERT_TRUE(waker_.jump());
  EXPECT_EQ(first_.held() + second_.held(), 1U);
  (first_.held() > 0 ? first_ : second_).answer_next(llm::Answer{});
  EXPECT_TRUE(last_is_answer());
  EXPECT_EQ(ends_.back().attempts, 2);
}

TEST_F(DispatcherOfTwo, ACancelEndsRetriesThatWait) {
  ASSERT_TRUE(submit());
  first_.answer_next(failure(llm::FailureClass::kTransient));
  dispatcher_.cancel_waiting();
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_EQ(std::get<llm::Failure>(ends_.back().outcome).failure_class,
            llm::FailureClass::kCancelled);
  dispatcher_.wait_idle();
}

TEST_F(DispatcherOfTwo, EqualRequestsGetOneAnswer) {
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(submit({.same_answer = Hash128{1, 2}}));
  EXPECT_EQ(first_.held() + second_.held(), 1U);
  first_.answer_next(llm::Answer{.usage = {.completion_tokens = 7}});
  ASSERT_EQ(ends_.size(), 3U);
  for (const DispatchResult& end : ends_)
    EXPECT_EQ(std::get<llm::Answer>(end.outcome).usage.completion_tokens, 7);
}

TEST_F(DispatcherOfTwo, WhatIsTooLateIsNotSent) {
  ASSERT_TRUE(submit());
  ASSERT_TRUE(submit());
  ASSERT_TRUE(submit({.deadline = clock_.now() + std::chrono::seconds(5)}));
  ASSERT_TRUE(waker_.jump());
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_EQ(std::get<llm::Failure>(ends_.back().outcome).code, "deadline_exceeded");
  first_.answer_next(llm::Answer{});
  second_.answer_next(llm::Answer{});
}

// A backend that answers before submit returns, while ten thousand wait: the stack does not grow.
TEST(Dispatcher, AnswersAtOnceDoNotNest) {
  class AtOnce final : public llm::Backend {
   public:
    void submit(llm::BackendCall, Done done) override {
      if (!first) {
        first = std::move(done);
        return;
      }
      depth_max = std::max(depth_max, ++depth);
      done(llm::Answer{});
      --depth;
    }
    int32_t in_flight_target() const override { return 1; }
    llm::BackendStats stats() const override { return {}; }

    Done first;  // kept until the others wait
    int depth = 0;
    int depth_max = 0;
  };
  AtOnce backend;
  Dispatcher dispatcher(backend, {.waiting_max = 20'000});
  int ended = 0;
  for (int i = 0; i < 10'000; ++i)
    ASSERT_TRUE(dispatcher.submit({}, [&](const DispatchResult&) { ++ended; }));
  EXPECT_EQ(ended, 0);
  backend.first(llm::Answer{});
  dispatcher.wait_idle();
  EXPECT_EQ(ended, 10'000);
  EXPECT_EQ(backend.depth_max, 1);
}

}  // namespace
}  // namespace windrow::dispatch
