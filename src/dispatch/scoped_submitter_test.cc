#include "dispatch/scoped_submitter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/testing/manual_clock.h"
#include "dispatch/testing/held_backend.h"
#include "dispatch/testing/manual_waker.h"

namespace windrow::dispatch {
namespace {

using testing::HeldBackend;

// One dispatcher, and what became of what was submitted through shares of it.
struct Rig {
  explicit Rig(DispatchOptions options)
      : dispatcher({{.backend = &backend}}, options, clock, waker) {}

  bool submit(ScopedSubmitter& share, const std::string& name, std::vector<llm::Outcome>& ends,
              int64_t tokens = 1) {
    llm::Request request;
    request.model = name;
    return share.submit(std::move(request), WorkItem{.tokens = tokens}, 0,
                        [&](DispatchResult result) { ends.push_back(std::move(result.outcome)); });
  }

  HeldBackend backend;
  windrow::testing::ManualClock clock;
  testing::ManualWaker waker{clock};
  Dispatcher dispatcher;
};

bool is_cancelled(const llm::Outcome& outcome) {
  const auto* failure = std::get_if<llm::Failure>(&outcome);
  return failure != nullptr && failure->failure_class == llm::FailureClass::kCancelled;
}

TEST(ScopedSubmitter, EndsItsOwnQueuedRequestsAndNoOthers) {
  Rig rig({.in_flight_max = 2, .waiting_max = 100});
  std::vector<llm::Outcome> mine;
  std::vector<llm::Outcome> theirs;
  ScopedSubmitter share(rig.dispatcher);
  ScopedSubmitter other(rig.dispatcher);
  ASSERT_TRUE(rig.submit(share, "a", mine));
  ASSERT_TRUE(rig.submit(other, "b", theirs));
  ASSERT_TRUE(rig.submit(share, "c", mine));
  ASSERT_TRUE(rig.submit(other, "d", theirs));

  share.stop_admitting();
  share.cancel_waiting();
  ASSERT_EQ(mine.size(), 1U);  // c; a is out
  EXPECT_TRUE(is_cancelled(mine[0]));
  EXPECT_FALSE(rig.submit(share, "e", mine));
  EXPECT_TRUE(theirs.empty());

  rig.backend.answer_next(llm::Answer{});  // a
  ASSERT_EQ(mine.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(mine[1]));
  EXPECT_EQ(rig.backend.names(), (std::vector<std::string>{"b", "d"}));
  ASSERT_TRUE(rig.submit(other, "f", theirs));
  other.cancel_all();
  EXPECT_EQ(theirs.size(), 1U);  // f; the others are out
  EXPECT_EQ(rig.backend.end_unwanted(), 2U);
  EXPECT_EQ(theirs.size(), 3U);
}

TEST(ScopedSubmitter, StopsWhatIsOutWhenAllIsCancelled) {
  Rig rig({.in_flight_max = 2, .waiting_max = 100});
  std::vector<llm::Outcome> mine;
  std::vector<llm::Outcome> theirs;
  ScopedSubmitter other(rig.dispatcher);
  {
    ScopedSubmitter share(rig.dispatcher);
    ASSERT_TRUE(rig.submit(share, "a", mine));
    ASSERT_TRUE(rig.submit(other, "b", theirs));
    ASSERT_TRUE(rig.submit(share, "c", mine));
    share.cancel_all();
    EXPECT_EQ(mine.size(), 1U);
    EXPECT_EQ(rig.backend.end_unwanted(), 1U);
    EXPECT_EQ(share.in_flight(), 0);
  }
  EXPECT_EQ(mine.size(), 2U);
  EXPECT_TRUE(is_cancelled(mine[0]) && is_cancelled(mine[1]));
  EXPECT_TRUE(theirs.empty());
  rig.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(theirs.at(0)));
}

TEST(ScopedSubmitter, HasNoMoreUnfinishedThanKeepTheDispatcherBusy) {
  Rig rig({.in_flight_max = 2, .waiting_max = 1000});
  std::vector<llm::Outcome> mine;
  ScopedSubmitter share(rig.dispatcher, {.ahead = 3});
  std::atomic<int> let_in = 0;
  std::thread submitter([&] {
    while (rig.submit(share, "row", mine))
      ++let_in;
  });
  while (let_in < 7)  // twice two, and three
    std::this_thread::yield();
  EXPECT_EQ(rig.backend.held(), 2U);
  EXPECT_EQ(share.in_flight(), 7);
  share.stop_admitting();
  submitter.join();
  EXPECT_EQ(let_in, 7);
  share.cancel_all();
  rig.backend.end_unwanted();
  EXPECT_EQ(mine.size(), 7U);
}

TEST(ScopedSubmitter, LongRequestsAreFewerAndOneAlwaysGoes) {
  Rig rig({.in_flight_max = 2, .waiting_max = 1000});
  std::vector<llm::Outcome> mine;
  ScopedSubmitter share(rig.dispatcher, {.tokens_max = 100});
  ASSERT_TRUE(rig.submit(share, "long", mine, 1000));
  std::atomic<bool> in = false;
  std::thread submitter([&] {
    EXPECT_TRUE(rig.submit(share, "short", mine, 1));
    in = true;
  });
  EXPECT_FALSE(in);
  rig.backend.answer_next(llm::Answer{});
  submitter.join();
  EXPECT_TRUE(in);
  rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(mine.size(), 2U);
}

TEST(ScopedSubmitter, ABlockedSubmitterLeavesWhenItsShareStops) {
  Rig rig({.in_flight_max = 1});
  std::vector<llm::Outcome> mine;
  std::vector<llm::Outcome> theirs;
  ScopedSubmitter other(rig.dispatcher);
  ASSERT_TRUE(rig.submit(other, "b", theirs));
  ScopedSubmitter share(rig.dispatcher);
  std::thread submitter([&] { EXPECT_FALSE(rig.submit(share, "a", mine)); });
  while (rig.dispatcher.submitters_waiting() == 0)
    std::this_thread::yield();
  share.stop_admitting();
  submitter.join();
  EXPECT_TRUE(mine.empty());
  EXPECT_EQ(share.in_flight(), 0);
  rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(theirs.size(), 1U);
}

// Names of requests are given to a share while others may cancel: none is forgotten, none ends
// twice.
TEST(ScopedSubmitter, CancelsWhatIsBeingSubmitted) {
  Rig rig({.in_flight_max = 4, .waiting_max = 1000});
  std::vector<llm::Outcome> mine;
  ScopedSubmitter share(rig.dispatcher);
  rig.backend.before_submit = [&] { share.cancel_all(); };
  ASSERT_TRUE(rig.submit(share, "a", mine));
  EXPECT_EQ(rig.backend.end_unwanted(), 1U);
  ASSERT_EQ(mine.size(), 1U);
  EXPECT_TRUE(is_cancelled(mine[0]));
}

}  // namespace
}  // namespace windrow::dispatch
