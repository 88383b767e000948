// What a dispatcher holds of requests that are equal: their bodies may be long, and thousands may
// wait for one answer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/testing/live_bytes.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/held_backend.h"

namespace windrow::dispatch {
namespace {

using testing::HeldBackend;
using windrow::testing::live_bytes;

constexpr size_t kBodyBytes = size_t{256} << 10;
constexpr int kRows = 200;

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
  // One here, one at the backend, and what is kept of each row.
  EXPECT_LT(live_bytes() - before, 4 * kBodyBytes);
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

}  // namespace
}  // namespace windrow::dispatch
