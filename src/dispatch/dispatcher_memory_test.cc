// What a dispatcher holds of requests: of equal ones, whose bodies may be long and thousands may
// wait for one answer, and of those that are over.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/testing/live_bytes.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/held_backend.h"

namespace windrow::dispatch {
namespace {

using testing::HeldBackend;
using windrow::testing::live_bytes;

constexpr size_t kBodyBytes = size_t{256} << 10;
constexpr int kRows = 200;

struct Silent final : llm::StreamSink {
  void on_delta(llm::Delta) override {}
};

llm::Request long_request() {
  llm::Request request;
  request.raw.assign(kBodyBytes, 'q');
  return request;
}

llm::Answer long_answer() {
  llm::Answer answer;
  answer.raw.assign(kBodyBytes, 'a');
  return answer;
}

TEST(DispatcherMemory, EqualRequestsHoldOneBody) {
  HeldBackend backend;
  Dispatcher dispatcher(backend, {});
  int ended = 0;
  const size_t before = live_bytes();
  for (int i = 0; i < kRows; ++i)
    ASSERT_TRUE(dispatcher.submit(long_request(), {.same_answer = Hash128{1, 1}}, 0,
                                  [&](const DispatchResult&) { ++ended; }));
  // The dispatcher and the backend share one; beside it is what is kept of each row.
  EXPECT_LT(live_bytes() - before, 3 * kBodyBytes);
  backend.answer_next(llm::Answer{});
  EXPECT_EQ(ended, kRows);
}

// Each gets an answer of its own, but not before it is its turn to be told.
TEST(DispatcherMemory, AnAnswerThatManyShareIsThereOnce) {
  HeldBackend backend;
  Dispatcher dispatcher(backend, {});
  int ended = 0;
  size_t most = 0;
  for (int i = 0; i < kRows; ++i)
    ASSERT_TRUE(
        dispatcher.submit({}, {.same_answer = Hash128{1, 1}}, 0, [&](const DispatchResult& result) {
          ++ended;
          EXPECT_EQ(std::get<llm::Answer>(result.outcome).raw.size(), kBodyBytes);
          most = std::max(most, live_bytes());
        }));
  const size_t before = live_bytes();
  backend.answer_next(long_answer());
  EXPECT_EQ(ended, kRows);
  EXPECT_LT(most - before, 8 * kBodyBytes);
}

// Which questions are out is remembered while they are, and some longer, but not all of a job's.
TEST(DispatcherMemory, QuestionsThatWereAnsweredAreForgotten) {
  HeldBackend backend;
  Dispatcher dispatcher(backend, {});
  const auto ask = [&](uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; ++i) {
      ASSERT_TRUE(
          dispatcher.submit({}, {.same_answer = Hash128{i, i}}, 0, [](const DispatchResult&) {}));
      backend.answer_next(llm::Answer{});
    }
  };
  ask(0, 5000);
  const size_t before = live_bytes();
  ask(5000, 30'000);
  EXPECT_LT(live_bytes(), before + (size_t{1} << 20));
}

// Offers, cancels and answers in any order, of equal requests and others, heard or not.
TEST(DispatcherMemory, ARequestThatIsCancelledLeavesNothing) {
  const uint64_t seed = 7;
  SCOPED_TRACE(seed);
  Random random(seed);
  HeldBackend backend;
  Dispatcher dispatcher(backend, {.in_flight_max = 8, .waiting_max = 200});
  int64_t accepted = 0;
  int64_t ended = 0;
  std::deque<ItemId> items;
  const auto live_some = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      const double draw = random.unit();
      if (draw < 0.5) {
        Delivery delivery;
        if (random.chance(0.5)) delivery.listener = std::make_shared<Silent>();
        WorkItem item{.priority = static_cast<Priority>(random.below(3))};
        if (random.chance(0.5)) item.same_answer = Hash128{random.below(50), 1};
        if (random.chance(0.1)) item.lane = 1 + random.below(4);
        const auto id = dispatcher.offer(
            {}, item, 0, [&](const DispatchResult&) { ++ended; }, std::move(delivery));
        if (!id) continue;
        ++accepted;
        items.push_back(*id);
        if (items.size() > 300) items.pop_front();
      } else if (draw < 0.9 && !items.empty()) {
        dispatcher.cancel(items[random.below(items.size())]);
      } else if (draw < 0.95) {
        backend.end_unwanted();
      } else if (backend.held() > 0) {
        backend.answer_next(llm::Answer{});
      }
    }
    while (dispatcher.in_flight() > 0)
      backend.answer_next(llm::Answer{});
  };
  live_some(20'000);
  const size_t before = live_bytes();
  live_some(200'000);
  EXPECT_EQ(ended, accepted);
  EXPECT_LT(live_bytes(), before + (size_t{64} << 10));
}

}  // namespace
}  // namespace windrow::dispatch
