#include "llm/pending_requests.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"

namespace windrow::llm {
namespace {

using std::chrono::seconds;

const Failure kCancelledHere{.failure_class = FailureClass::kCancelled, .code = "cancelled here"};

std::string code_of(const Outcome& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  return failure == nullptr ? "answered" : failure->code;
}

class PendingRequestsTest : public ::testing::Test {
 protected:
  Backend::Done note() {
    return [this](const Outcome& outcome) { ends_.push_back(code_of(outcome)); };
  }

  PendingId hold(BackendCall call = {}) {
    const PendingId id = pending_.add(std::move(call), note());
    pending_.watch(id);
    return id;
  }

  std::stop_source withdrawn_;
  std::stop_source unwanted_;
  std::vector<std::string> ends_;
  PendingRequests pending_{kCancelledHere};
};

TEST_F(PendingRequestsTest, WhatIsTakenGoesOnAndIsNotCancelledAnyMore) {
  const PendingId id = hold({.unwanted = unwanted_.get_token()});
  hold();
  EXPECT_EQ(pending_.size(), 2U);
  auto taken = pending_.take(id);
  ASSERT_TRUE(taken);
  EXPECT_FALSE(pending_.take(id)) << "it leaves once";
  unwanted_.request_stop();
  EXPECT_TRUE(ends_.empty());
  auto [call, done] = std::move(*taken).release();
  EXPECT_TRUE(call.unwanted.stop_requested()) << "the next stage sees it";
  done(Answer{});
  EXPECT_EQ(ends_, std::vector<std::string>{"answered"});
  EXPECT_EQ(pending_.size(), 1U);
}

TEST_F(PendingRequestsTest, EitherTokenEndsACall) {
  hold({.withdrawn = withdrawn_.get_token(), .unwanted = unwanted_.get_token()});
  hold({.withdrawn = withdrawn_.get_token(), .unwanted = unwanted_.get_token()});
  hold({.unwanted = unwanted_.get_token()});
  hold();
  withdrawn_.request_stop();
  EXPECT_EQ(ends_.size(), 2U);
  unwanted_.request_stop();
  EXPECT_EQ(ends_, std::vector<std::string>(3, "cancelled here"));
  EXPECT_EQ(pending_.size(), 1U);
}

TEST_F(PendingRequestsTest, ATokenThatIsStoppedAlreadyEndsItInWatch) {
  unwanted_.request_stop();
  const PendingId id = pending_.add({.unwanted = unwanted_.get_token()}, note());
  EXPECT_TRUE(ends_.empty()) << "the owner may hold its lock";
  pending_.watch(id);
  EXPECT_EQ(ends_.size(), 1U);
  EXPECT_EQ(pending_.size(), 0U);
}

TEST_F(PendingRequestsTest, ADoneMayCancelOthers) {
  const PendingId first = pending_.add({.withdrawn = withdrawn_.get_token()},
                                       [this](const Outcome&) { unwanted_.request_stop(); });
  pending_.watch(first);
  hold({.withdrawn = withdrawn_.get_token(), .unwanted = unwanted_.get_token()});
  withdrawn_.request_stop();
  EXPECT_EQ(ends_.size(), 1U);
  EXPECT_EQ(pending_.size(), 0U);
}

TEST_F(PendingRequestsTest, AllAreTakenInTheirOrder) {
  for (const char* model : {"a", "b", "c"})
    hold(plain_call({.model = model}));
  std::string models;
  for (auto& taken : pending_.take_all()) {
    models += taken.call().request->model;
    std::move(taken).end(Answer{});
  }
  EXPECT_EQ(models, "abc");
  EXPECT_EQ(ends_.size(), 3U);
}

TEST_F(PendingRequestsTest, CallsThatHaveWaitedTooLongAreFoundByTheirLimits) {
  const auto until = [this](int at) {
    auto wait = std::make_shared<LoadWait>();
    wait->until = TimePoint(seconds(at));
    return hold({.load_wait = std::move(wait)});
  };
  EXPECT_EQ(pending_.next_late(), std::nullopt);
  hold();
  EXPECT_EQ(pending_.next_late(), std::nullopt) << "it may wait as long as it takes";
  until(30);
  const PendingId earliest = until(10);
  until(20);
  EXPECT_EQ(pending_.next_late(), TimePoint(seconds(10)));
  EXPECT_FALSE(pending_.take_late(TimePoint(seconds(9))));
  EXPECT_TRUE(pending_.take_late(TimePoint(seconds(10))));
  EXPECT_FALSE(pending_.take(earliest));
  EXPECT_EQ(pending_.next_late(), TimePoint(seconds(20)));
  EXPECT_TRUE(pending_.take_late(TimePoint(seconds(40))));
  EXPECT_TRUE(pending_.take_late(TimePoint(seconds(40))));
  EXPECT_FALSE(pending_.take_late(TimePoint(seconds(40))));
  EXPECT_EQ(pending_.size(), 1U);
}

// Its limit is the one it came with, whatever the asker writes there later.
TEST_F(PendingRequestsTest, ALimitThatIsTakenOutIsForgotten) {
  auto wait = std::make_shared<LoadWait>();
  wait->until = TimePoint(seconds(10));
  const PendingId id = hold({.load_wait = wait});
  wait->until = TimePoint(seconds(50));
  EXPECT_TRUE(pending_.take(id));
  EXPECT_EQ(pending_.next_late(), std::nullopt);
}

TEST(PendingRequests, ItsEndEndsWhatIsLeft) {
  std::vector<std::string> ends;
  {
    PendingRequests pending(kCancelledHere);
    pending.add({}, [&](const Outcome& outcome) { ends.push_back(code_of(outcome)); });
  }
  EXPECT_EQ(ends, std::vector<std::string>{"cancelled here"});
}

TEST(PendingRequests, AnOwnerThatKeepsCountIsAskedToCancel) {
  std::stop_source unwanted;
  std::vector<std::string> ends;
  PendingRequests* all = nullptr;
  PendingRequests pending(kCancelledHere, [&](PendingId id) {
    if (auto taken = all->take(id)) std::move(*taken).end(Failure{.code = "counted"});
  });
  all = &pending;
  const PendingId id = pending.add({.unwanted = unwanted.get_token()},
                                   [&](const Outcome& one) { ends.push_back(code_of(one)); });
  pending.watch(id);
  unwanted.request_stop();
  EXPECT_EQ(ends, std::vector<std::string>{"counted"});
}

// Threads that add, watch, take and stop the tokens of the same calls: each ends once, and the end
// of all waits for those that are being cancelled.
TEST(PendingRequests, EveryCallLeavesOnce) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 300;
  constexpr size_t kCalls = 8;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    std::vector<std::atomic<int>> ends(kCalls);
    std::vector<std::stop_source> withdrawn(kCalls);
    std::vector<std::stop_source> unwanted(kCalls);
    auto pending = std::make_unique<PendingRequests>(kCancelledHere);
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Random random(1000 * static_cast<uint64_t>(round) + t);
        for (int step = 0; step < 20; ++step) {
          const size_t i = random.below(kCalls);
          if (random.chance(0.3)) {
            withdrawn[i].request_stop();
          } else if (random.chance(0.3)) {
            unwanted[i].request_stop();
          } else if (auto taken = pending->take(PendingId(i))) {
            std::move(*taken).end(Answer{});
          }
        }
      });
    }
    for (size_t i = 0; i < kCalls; ++i) {
      pending->watch(
          pending->add({.withdrawn = withdrawn[i].get_token(), .unwanted = unwanted[i].get_token()},
                       [&ends, i](const Outcome&) { ++ends[i]; }));
    }
    threads.clear();
    pending.reset();
    for (const std::atomic<int>& count : ends)
      EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace windrow::llm
