// What goes when, through the whole dispatcher and on a clock the test moves: lanes, priorities,
// deadlines, groups, budgets, and how much is let in.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/manual_clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/held_backend.h"
#include "dispatch/testing/manual_waker.h"

namespace windrow::dispatch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::failure;
using testing::HeldBackend;
using Names = std::vector<std::string>;

class DispatcherOrder : public ::testing::Test {
 protected:
  void open(DispatchOptions options, bool both = false) {
    options.waiting_max = std::max(options.waiting_max, 1000);
    std::vector<DispatchUpstream> upstreams = {{.backend = &first_}};
    if (both) upstreams.push_back({.backend = &second_});
    dispatcher_.emplace(std::move(upstreams), std::move(options), clock_, waker_);
  }

  // A request is told by its model.
  void submit(std::string name, WorkItem item = {}, Cost expected = 0) {
    llm::Request request;
    request.model = name;
    ASSERT_TRUE(dispatcher_->submit(
        std::move(request), item, expected,
        [this, name](DispatchResult result) { ends_[name] = std::move(result); }));
  }

  // What is out in the order it went, and then what follows each answer, until nothing is out.
  Names answer_all() {
    Names names;
    while (first_.held() > 0) {
      names.push_back(first_.names().front());
      first_.answer_next(llm::Answer{});
    }
    return names;
  }

  llm::FailureClass failed(const std::string& name) const {
    return std::get<llm::Failure>(ends_.at(name).outcome).failure_class;
  }

  windrow::testing::ManualClock clock_;
  testing::ManualWaker waker_{clock_};
  HeldBackend first_;
  HeldBackend second_;
  std::map<std::string, DispatchResult> ends_;
  std::optional<Dispatcher> dispatcher_;
};

TEST_F(DispatcherOrder, ALaneIsStrictAndLanesAreParallel) {
  open({.in_flight_max = 8});
  for (const char* name : {"a1", "a2", "a3"})
    submit(name, {.lane = 1});
  for (const char* name : {"b1", "b2"})
    submit(name, {.lane = 2});
  submit("free");
  EXPECT_EQ(first_.names(), (Names{"a1", "b1", "free"}));
  first_.answer_next(llm::Answer{});
  EXPECT_EQ(first_.names(), (Names{"b1", "free", "a2"}));
  answer_all();
  EXPECT_EQ(ends_.size(), 6U);
}

TEST_F(DispatcherOrder, ALaneWaitsForARetryAndGoesOnAfterAFailure) {
  open({.in_flight_max = 8, .attempts_max = 2, .backoff_base = seconds(10)});
  submit("a1", {.lane = 1});
  submit("a2", {.lane = 1});
  first_.answer_next(failure(llm::FailureClass::kTransient));
  EXPECT_EQ(first_.held(), 0U);
  ASSERT_TRUE(waker_.jump());
  EXPECT_EQ(first_.names(), (Names{"a1"}));
  first_.answer_next(failure(llm::FailureClass::kTransient));
  EXPECT_EQ(failed("a1"), llm::FailureClass::kTransient);
  EXPECT_EQ(first_.names(), (Names{"a2"}));
  answer_all();
}

// Urgent ones go first, and what is in no hurry goes all the same.
TEST_F(DispatcherOrder, OvertakingIsBounded) {
  open({.in_flight_max = 1, .queue = {.bypass = {2, 4}}});
  submit("out");
  for (int i = 0; i < 4; ++i)
    submit(fmt::format("batch {}", i), {.priority = Priority::kBatch});
  for (int i = 0; i < 40; ++i)
    submit(fmt::format("urgent {}", i), {.priority = Priority::kInteractive});
  const Names order = answer_all();
  ASSERT_EQ(order.size(), 45U);
  EXPECT_EQ(order[1], "urgent 0");
  for (int i = 0; i < 4; ++i) {
    const auto place = std::ranges::find(order, fmt::format("batch {}", i)) - order.begin();
    EXPECT_LE(place, 1 + (i + 1) * 5) << i;
    EXPECT_GT(place, 1 + i * 4) << i;
  }
}

TEST_F(DispatcherOrder, TheNearestDeadlineFirstAndNothingTooLate) {
  open({.in_flight_max = 1});
  const TimePoint now = clock_.now();
  submit("out");
  submit("free");
  submit("late", {.deadline = now + seconds(9)});
  submit("soon", {.deadline = now + seconds(5)});
  submit("lost", {.deadline = now + seconds(1)});
  EXPECT_EQ(waker_.at(), now + seconds(1));
  ASSERT_TRUE(waker_.jump());
  EXPECT_EQ(std::get<llm::Failure>(ends_.at("lost").outcome).status, 408);
  EXPECT_EQ(ends_.at("lost").attempts, 0);
  EXPECT_EQ(answer_all(), (Names{"out", "soon", "late", "free"}));
}

// The deadline of a retry passes while it waits.
TEST_F(DispatcherOrder, ARetryKeepsItsDeadline) {
  open({.in_flight_max = 1, .attempts_max = 100});
  submit("row", {.deadline = clock_.now() + seconds(2)});
  llm::Failure later = failure(llm::FailureClass::kTransient);
  later.retry_after_ms = 60'000;
  later.message = "the machine is full";
  first_.answer_next(later);
  while (first_.held() == 0 && waker_.jump()) {
  }
  ASSERT_TRUE(ends_.contains("row"));
  const auto& late = std::get<llm::Failure>(ends_.at("row").outcome);
  EXPECT_EQ(late.code, "deadline_exceeded");
  EXPECT_EQ(
      late.message,
      "its deadline passed before it could be tried again; the last try failed: " + later.message);
}

TEST_F(DispatcherOrder, AGroupStaysWhereItsBeginningIs) {
  open({.in_flight_max = 4}, true);
  for (int i = 0; i < 40; ++i)
    submit(fmt::format("{}", i % 2), {.tokens = 100, .group = 1 + static_cast<uint64_t>(i % 2)});
  std::map<std::string, std::array<int, 2>> where;
  while (first_.held() + second_.held() > 0) {
    for (HeldBackend* backend : {&first_, &second_}) {
      if (backend->held() == 0) continue;
      ++where[backend->names().front()][backend == &first_ ? 0 : 1];
      backend->answer_next(llm::Answer{});
    }
  }
  for (const auto& [group, counts] : where)
    EXPECT_GE(std::max(counts[0], counts[1]), 16) << group;
}

TEST_F(DispatcherOrder, ABudgetThatIsSpentIsToldOnceAndStops) {
  int told = 0;
  DispatchOptions options{.in_flight_max = 1, .cost_max = 25};
  options.cost_of = [](const llm::Request&, const llm::Usage& usage) {
    return Cost{usage.completion_tokens};
  };
  options.on_budget_spent = [&] {
    ++told;
    dispatcher_->stop_admitting();
    dispatcher_->cancel_waiting();
  };
  open(std::move(options));
  for (const char* name : {"a", "b", "c", "d"})
    submit(name, {}, 10);
  llm::Answer answer;
  answer.usage.completion_tokens = 10;
  first_.answer_next(answer);
  EXPECT_EQ(told, 0);
  EXPECT_FALSE(dispatcher_->budget_is_spent());
  first_.answer_next(answer);
  dispatcher_->wait_idle();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(dispatcher_->counts().spent, 20);
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ends_.at("b").outcome));
  EXPECT_EQ(failed("c"), llm::FailureClass::kCancelled);
  EXPECT_EQ(failed("d"), llm::FailureClass::kCancelled);
}

// The callback may use what is destroyed once the dispatcher is idle.
TEST_F(DispatcherOrder, IsNotIdleWhileTheBudgetsCallbackRuns) {
  DispatchOptions options{.in_flight_max = 1, .cost_max = 25};
  options.cost_of = [](const llm::Request&, const llm::Usage& usage) {
    return Cost{usage.completion_tokens};
  };
  std::atomic<bool> returned = false;
  std::jthread waiter;
  options.on_budget_spent = [&] {
    // Another thread ends what is queued, as a user's interrupt does at this moment.
    std::thread([&] { dispatcher_->cancel_waiting(); }).join();
    waiter = std::jthread([&] {
      dispatcher_->wait_idle();
      EXPECT_TRUE(returned);
    });
    // Time for the waiter to return too early.
    for (int i = 0; i < 1000; ++i)
      std::this_thread::yield();
    returned = true;
  };
  open(std::move(options));
  for (const char* name : {"a", "b", "c"})
    submit(name, {}, 10);
  llm::Answer answer;
  answer.usage.completion_tokens = 10;
  first_.answer_next(answer);
  first_.answer_next(answer);
  EXPECT_TRUE(returned);
  EXPECT_EQ(failed("c"), llm::FailureClass::kCancelled);
}

// Of what it is expected to cost a row may give back.
TEST_F(DispatcherOrder, ABudgetIsNotSpentWhileWhatIsOutMayCostLess) {
  DispatchOptions options{.in_flight_max = 4, .cost_max = 25};
  options.cost_of = [](const llm::Request&, const llm::Usage&) { return Cost{1}; };
  open(std::move(options));
  for (const char* name : {"a", "b", "c"})
    submit(name, {}, 10);
  EXPECT_EQ(first_.held(), 2U);
  EXPECT_FALSE(dispatcher_->budget_is_spent());
  first_.answer_next(llm::Answer{});
  EXPECT_EQ(first_.names(), (Names{"b", "c"}));
  answer_all();
}

TEST_F(DispatcherOrder, ARateLimitSpreadsWhatGoesOut) {
  open({.in_flight_max = 100, .quotas = {{.requests_per_minute = 60}}});
  for (int i = 0; i < 20; ++i)
    submit(fmt::format("{}", i));
  const size_t at_once = first_.held();
  EXPECT_LE(at_once, 7U);
  EXPECT_GE(at_once, 5U);
  const TimePoint begin = clock_.now();
  while (first_.held() < 20) {
    ASSERT_TRUE(waker_.jump());
  }
  EXPECT_GE(clock_.now() - begin, seconds(13));
  EXPECT_LE(clock_.now() - begin, seconds(20));
  answer_all();
}

TEST_F(DispatcherOrder, EqualOnesDoNotFillTheRoomOfOthers) {
  dispatcher_.emplace(std::vector<DispatchUpstream>{{.backend = &first_}},
                      DispatchOptions{.in_flight_max = 2}, clock_, waker_);
  for (int i = 0; i < 50; ++i)
    submit(fmt::format("same {}", i), {.same_answer = Hash128{1, 1}});
  submit("other");
  EXPECT_EQ(first_.names(), (Names{"same 0", "other"}));
  answer_all();
  EXPECT_EQ(ends_.size(), 51U);
}

// A limit that is found while the job runs: it bounds what is in flight at each moment, and
// capacity is that limit and what may wait.
TEST_F(DispatcherOrder, RoomFollowsLimitsThatAreFound) {
  const ConcurrencyOptions found{.initial = 2, .unanswered_max = 16};
  dispatcher_.emplace(
      std::vector<DispatchUpstream>{
          {.backend = &first_, .concurrency = found},
          {.backend = &second_, .concurrency = ConcurrencyOptions{.fixed = 3}}},
      DispatchOptions{.waiting_max = 5}, clock_, waker_);
  EXPECT_EQ(dispatcher_->in_flight_max(), 2 + 3 + 5);
  for (int i = 0; i < 10; ++i)
    submit(fmt::format("{}", i));
  EXPECT_EQ(first_.held(), 2U);
  EXPECT_EQ(second_.held(), 3U);
  // Nothing is answered and time passes: the first is tried with more, the second never.
  for (int i = 0; i < 5 && waker_.jump(); ++i) {
  }
  EXPECT_GT(first_.held(), 2U);
  EXPECT_EQ(second_.held(), 3U);
  EXPECT_GT(dispatcher_->in_flight_max(), 10);
  submit("one more");
  const std::vector<UpstreamReading> readings = dispatcher_->readings();
  EXPECT_EQ(readings[0].in_flight, static_cast<int32_t>(first_.held()));
  EXPECT_EQ(readings[1].in_flight_max, 3);
  while (first_.held() + second_.held() > 0) {
    clock_.advance(milliseconds(10));
    (first_.held() > 0 ? first_ : second_).answer_next(llm::Answer{});
  }
  EXPECT_EQ(ends_.size(), 11U);
}

}  // namespace
}  // namespace windrow::dispatch
