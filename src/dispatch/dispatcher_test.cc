#include "dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

namespace windrow::dispatch {
namespace {

// A backend that keeps what it is given until the test answers it.
class HeldBackend final : public llm::Backend {
 public:
  void submit(llm::Request, Done done) override {
    const std::scoped_lock lock(mutex_);
    held_.push_back(std::move(done));
    changed_.notify_all();
  }

  void answer_next(llm::Outcome outcome) {
    Done done;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !held_.empty(); });
      done = std::move(held_.front());
      held_.pop_front();
    }
    done(std::move(outcome));
  }

  void cancel_waiting() override { cancel_all(); }

  void cancel_all() override {
    std::deque<Done> held;
    {
      const std::scoped_lock lock(mutex_);
      held.swap(held_);
    }
    for (const Done& done : held)
      done(llm::Failure{llm::FailureClass::kCancelled});
  }

  int32_t in_flight_target() const override { return 2; }
  llm::BackendStats stats() const override { return {}; }

  size_t held() const {
    const std::scoped_lock lock(mutex_);
    return held_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Done> held_;
};

llm::Failure failure(llm::FailureClass failure_class) {
  return llm::Failure{.failure_class = failure_class, .status = 500};
}

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

TEST(Dispatcher, StopAdmittingReleasesThoseWhoWait) {
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

}  // namespace
}  // namespace windrow::dispatch
