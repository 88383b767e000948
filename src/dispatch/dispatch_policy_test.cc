#include "dispatch/dispatch_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "dispatch/testing/policy_rig.h"

namespace windrow::dispatch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using testing::fixed;
using testing::kStart;
using Rig = testing::PolicyRig;
using Ids = std::vector<uint64_t>;

TEST(DispatchPolicy, SendsAsManyAsFitAndTheNextWhenOneEnded) {
  Rig rig(fixed({2}));
  for (uint64_t id = 1; id <= 3; ++id)
    rig.submit(id);
  EXPECT_EQ(rig.ids_out(), (Ids{1, 2}));
  rig.answer_next();
  EXPECT_EQ(rig.how(1), ItemEnd::kAnswered);
  EXPECT_EQ(rig.ids_out(), (Ids{2, 3}));
}

TEST(DispatchPolicy, AModelInThisProcessIsAskedAgainAtOnce) {
  Rig rig(fixed({1}));
  rig.submit(1);
  rig.fail_next(Fault::kTransient);
  rig.fail_next(Fault::kTransient);
  EXPECT_TRUE(rig.ends.empty());
  rig.fail_next(Fault::kTransient);
  EXPECT_EQ(rig.how(1), ItemEnd::kFailed);
  EXPECT_EQ(rig.ends.at(1).attempts.used, 3);
}

TEST(DispatchPolicy, OthersGoWhileARetryWaits) {
  DispatchPolicyOptions options = fixed({1});
  options.retry.backoff_base = seconds(10);
  Rig rig(options);
  rig.submit(1);
  rig.submit(2);
  rig.end_next({.fault = Fault::kTransient, .retry_after = seconds(20)});
  EXPECT_EQ(rig.ids_out(), (Ids{2}));
  rig.answer_next();
  EXPECT_EQ(rig.policy.wake_at(), kStart + seconds(20));
  rig.advance(seconds(20));
  EXPECT_EQ(rig.ids_out(), (Ids{1}));
}

TEST(DispatchPolicy, AnItemGoesOnlyWhereItMay) {
  Rig rig(fixed({1, 4}));
  for (uint64_t id = 1; id <= 4; ++id)
    rig.submit(id, {.upstreams = 1});
  rig.submit(5, {.upstreams = 2});
  rig.submit(6);
  EXPECT_EQ(rig.ids_out(), (Ids{1, 5, 6})) << "the others wait for the first upstream";
  for (const Send& send : rig.out)
    EXPECT_EQ(send.upstream, send.items.front() == ItemId(1) ? UpstreamId(0) : UpstreamId(1));
  for (int i = 0; i < 6; ++i)
    rig.answer_next();
  EXPECT_EQ(rig.ends.size(), 6U);
}

TEST(DispatchPolicy, ASingleRefusalCostsItsOwnRowABackOffAndNothingElse) {
  for (const int32_t concurrency : {0, 4}) {
    DispatchPolicyOptions options = fixed({concurrency});
    options.upstreams[0].concurrency.initial = 4;
    options.retry.backoff_base = seconds(1);
    Rig rig(options);
    for (uint64_t id = 1; id <= 20; ++id)
      rig.submit(id);
    rig.fail_next(Fault::kOverloaded);
    EXPECT_EQ(rig.ids_out(), (Ids{2, 3, 4, 5}));
    EXPECT_EQ(rig.policy.limit(UpstreamId(0)), 4);
    rig.answer_next();
    EXPECT_EQ(rig.ids_out(), (Ids{3, 4, 5, 6}));
    rig.advance(seconds(1));
    while (!rig.out.empty())
      rig.answer_next();
    EXPECT_EQ(rig.how(1), ItemEnd::kAnswered);
  }
}

TEST(DispatchPolicy, ARefusalThatNamesATimePausesAllOfItsQuotaAndNoOther) {
  DispatchPolicyOptions options = fixed({4, 4, 4});
  options.quotas = {{}, {}};
  options.upstreams[2].quota = 1;
  Rig rig(options);
  for (uint64_t id = 1; id <= 12; ++id)
    rig.submit(id);
  const UpstreamId refused = rig.out.front().upstream;
  ASSERT_NE(refused, UpstreamId(2));
  rig.end_next({.fault = Fault::kOverloaded, .retry_after = seconds(30)});
  // Answers make room, but only the other quota's upstream is given anything.
  for (int i = 0; i < 11; ++i)
    rig.answer_next();
  for (uint64_t id = 20; id < 40; ++id)
    rig.submit(id);
  for (const Send& send : rig.out)
    EXPECT_EQ(send.upstream, UpstreamId(2));
  EXPECT_EQ(rig.out.size(), 4U);
  // Then the server wants to be asked again, and is given as much as before.
  rig.advance(seconds(31));
  EXPECT_EQ(rig.out.size(), 12U);
}

TEST(DispatchPolicy, RefusalsInARowPauseTheQuotaAndThenOneGoesToSee) {
  Rig rig(fixed({4}));
  for (uint64_t id = 1; id <= 40; ++id)
    rig.submit(id);
  int refused = 0;
  for (; refused < 40 && rig.out.size() == 4; ++refused)
    rig.fail_next(Fault::kOverloaded);
  EXPECT_LE(refused, 8);
  EXPECT_EQ(rig.policy.limit(UpstreamId(0)), 4) << "a fixed number is kept";
  while (!rig.out.empty())
    rig.fail_next(Fault::kOverloaded);
  rig.advance(seconds(2));
  ASSERT_EQ(rig.out.size(), 1U);
  rig.answer_next();
  EXPECT_EQ(rig.out.size(), 4U);
}

TEST(DispatchPolicy, RefusalsInARowCutTheNumberInFlight) {
  DispatchPolicyOptions options = fixed({0});
  options.upstreams[0].concurrency = {.initial = 16};
  Rig rig(options);
  for (uint64_t id = 1; id <= 60; ++id)
    rig.submit(id);
  ASSERT_EQ(rig.out.size(), 16U);
  for (int i = 0; i < 7; ++i)
    rig.fail_next(Fault::kOverloaded);
  EXPECT_EQ(rig.policy.limit(UpstreamId(0)), 16);
  rig.fail_next(Fault::kOverloaded);
  EXPECT_LE(rig.policy.limit(UpstreamId(0)), 8);
}

DispatchPolicyOptions where_people_wait(DispatchPolicyOptions options) {
  options.retry.backoff_base = seconds(1);
  options.retry.refusal_patience = seconds(10);
  return options;
}

TEST(DispatchPolicy, WhereClientsWaitARefusalHoldsUpNoOtherItem) {
  Rig rig(where_people_wait(fixed({1})));
  rig.submit(1);
  rig.submit(2);
  rig.end_next({.fault = Fault::kOverloaded, .retry_after = seconds(5)});
  EXPECT_EQ(rig.ids_out(), (Ids{2}));
  rig.submit(3);
  rig.advance(seconds(6));  // the first may go again
  rig.answer_next();
  EXPECT_EQ(rig.ids_out(), (Ids{3})) << "it goes behind";
  rig.answer_next();
  EXPECT_EQ(rig.ids_out(), (Ids{1}));
  rig.end_next({.fault = Fault::kOverloaded, .retry_after = seconds(5)});
  EXPECT_EQ(rig.how(1), ItemEnd::kFailed);
  EXPECT_EQ(rig.ends.at(1).attempts.refused, 2);
}

TEST(DispatchPolicy, WhatOneRefusedIsTriedElsewhere) {
  Rig rig(where_people_wait(fixed({4, 4})));
  rig.submit(1);
  const UpstreamId first = rig.out.front().upstream;
  rig.end_next({.fault = Fault::kOverloaded, .retry_after = seconds(60)});
  ASSERT_TRUE(rig.ends.empty()) << "somebody else is there";
  rig.advance(seconds(2));
  ASSERT_EQ(rig.ids_out(), (Ids{1}));
  EXPECT_NE(rig.out.front().upstream, first);
  rig.end_next({.fault = Fault::kOverloaded, .retry_after = seconds(60)});
  EXPECT_EQ(rig.how(1), ItemEnd::kFailed);
}

// It says nothing about how many the server takes.
TEST(DispatchPolicy, WhatIsAlwaysRefusedDoesNotCutTheLimit) {
  DispatchPolicyOptions options = where_people_wait(fixed({0}));
  options.retry.refusal_patience = std::chrono::hours(1);
  options.upstreams[0].concurrency = {.initial = 8};
  Rig rig(options);
  rig.submit(1);
  for (int i = 0; i < 100; ++i) {
    rig.fail_next(Fault::kOverloaded);
    rig.advance(seconds(5));
    ASSERT_EQ(rig.ids_out(), (Ids{1}));
  }
  EXPECT_GE(rig.policy.limit(UpstreamId(0)), 8);
}

TEST(DispatchPolicy, AnUpstreamWhoseAnswersCannotBeUsedIsWell) {
  DispatchPolicyOptions options = fixed({4});
  options.retry.attempts_max = 2;
  Rig rig(options);
  for (uint64_t id = 1; id <= 50; ++id)
    rig.submit(id);
  for (int i = 0; i < 100; ++i)
    rig.end_next({.fault = Fault::kTransient, .answered = true});
  EXPECT_EQ(rig.ends.size(), 50U) << "without a pause";
  EXPECT_EQ(rig.how(1), ItemEnd::kFailed);
  EXPECT_EQ(rig.policy.health(UpstreamId(0)), Health::kGood);
}

TEST(DispatchPolicy, AnUpstreamThatFailsIsLeftAndFoundAgain) {
  DispatchPolicyOptions options = fixed({1, 1});
  options.retry.attempts_max = 100;
  Rig rig(options);
  for (uint64_t id = 1; id <= 30; ++id)
    rig.submit(id);
  for (int i = 0; i < 20 && rig.policy.health(UpstreamId(0)) == Health::kGood; ++i) {
    const bool bad = rig.out.front().upstream == UpstreamId(0);
    bad ? rig.fail_next(Fault::kTransient) : rig.answer_next();
  }
  EXPECT_EQ(rig.policy.health(UpstreamId(0)), Health::kEjected);
  EXPECT_EQ(rig.out.size(), 1U);
  rig.advance(seconds(10));
  EXPECT_EQ(rig.policy.health(UpstreamId(0)), Health::kProbing);
  EXPECT_EQ(rig.out.size(), 2U);
  rig.answer_next();
  rig.answer_next();
  EXPECT_EQ(rig.policy.health(UpstreamId(0)), Health::kGood);
}

TEST(DispatchPolicy, EqualItemsAreAskedOnce) {
  Rig rig(fixed({4}));
  const WorkItem same{.same_answer = Hash128{1, 1}};
  for (uint64_t id = 1; id <= 4; ++id)
    rig.submit(id, same);
  EXPECT_EQ(rig.ids_out(), (Ids{1}));
  rig.answer_next();
  for (uint64_t id = 1; id <= 4; ++id) {
    EXPECT_EQ(rig.how(id), ItemEnd::kAnswered);
    EXPECT_EQ(rig.ends.at(id).outcome_of, ItemId(1));
  }
}

TEST(DispatchPolicy, KnowsWhichItemsWait) {
  DispatchPolicyOptions options = fixed({1});
  options.retry.backoff_base = seconds(10);
  Rig rig(options);
  const auto waits = [&](uint64_t id) { return rig.policy.is_waiting(ItemId(id)); };
  rig.submit(1, {.same_answer = Hash128{7, 7}});
  rig.submit(2, {.same_answer = Hash128{7, 7}});
  rig.submit(3);
  EXPECT_FALSE(waits(1));
  EXPECT_FALSE(waits(2)) << "it is asked with the first";
  EXPECT_TRUE(waits(3));
  rig.end_next({.fault = Fault::kTransient, .retry_after = seconds(20)});
  EXPECT_TRUE(waits(1));
  EXPECT_TRUE(waits(2));
  EXPECT_FALSE(waits(3));
  rig.answer_next();
  EXPECT_FALSE(waits(3)) << "it has ended";
}

TEST(DispatchPolicy, AFailureIsSharedAndACancelIsNot) {
  Rig rig(fixed({1}));
  rig.submit(1, {.same_answer = Hash128{1, 1}});
  rig.submit(2, {.same_answer = Hash128{1, 1}});
  rig.fail_next(Fault::kRequest);
  EXPECT_EQ(rig.how(2), ItemEnd::kFailed);

  rig.submit(3);
  rig.submit(4, {.same_answer = Hash128{2, 2}});
  rig.submit(5, {.same_answer = Hash128{2, 2}});
  rig.cancel(4);
  EXPECT_EQ(rig.how(4), ItemEnd::kCancelled);
  rig.answer_next();
  EXPECT_EQ(rig.ids_out(), (Ids{5}));
}

TEST(DispatchPolicy, RowsThatPackGatherWhileTheUpstreamIsBusy) {
  Rig rig(fixed({1}));
  for (uint64_t id = 1; id <= 6; ++id)
    rig.submit(id, {.pack = 1});
  EXPECT_EQ(rig.ids_out(), (Ids{1}));
  rig.answer_next();
  ASSERT_EQ(rig.out.size(), 1U);
  EXPECT_EQ(rig.out.front().items.size(), 5U);
  EXPECT_EQ(rig.out.front().reason, PackReason::kRoom);
}

TEST(DispatchPolicy, AWindowThatIsOverWaitsForRoomAndNotForTime) {
  DispatchPolicyOptions options = fixed({1});
  options.packer.window = milliseconds(30);
  Rig rig(options);
  rig.submit(1);
  rig.submit(2, {.pack = 1});
  rig.submit(3, {.pack = 1, .deadline = kStart + seconds(5)});
  EXPECT_EQ(rig.policy.wake_at(), kStart + milliseconds(30));
  rig.advance(milliseconds(30));
  EXPECT_EQ(rig.policy.wake_at(), kStart + seconds(5));
  rig.advance(seconds(5));
  EXPECT_EQ(rig.how(3), ItemEnd::kExpired);
  EXPECT_EQ(rig.policy.wake_at(), std::nullopt);
  rig.answer_next();
  EXPECT_EQ(rig.ids_out(), (Ids{2}));
}

// A bad row costs itself: the call is tried in halves until it is alone.
TEST(DispatchPolicy, ABadRowIsFoundByHalves) {
  Rig rig(fixed({1}));
  for (uint64_t id = 1; id <= 9; ++id)
    rig.submit(id, {.pack = 1});
  int calls = 0;
  for (; !rig.out.empty() && calls < 100; ++calls) {
    const bool bad = std::ranges::count(rig.out.front().items, ItemId(5)) > 0;
    bad ? rig.fail_next(Fault::kRequest) : rig.answer_next();
  }
  EXPECT_LT(calls, 12);
  for (uint64_t id = 1; id <= 9; ++id)
    EXPECT_EQ(rig.how(id), id == 5 ? ItemEnd::kFailed : ItemEnd::kAnswered) << id;
}

// Also one that makes the server fail: the others do not fail with it.
TEST(DispatchPolicy, ARowThatBreaksTheServerIsFoundByHalves) {
  DispatchPolicyOptions options = fixed({1});
  options.router.failures_max = 0;
  Rig rig(options);
  for (uint64_t id = 1; id <= 65; ++id)
    rig.submit(id, {.pack = 1});
  int calls = 0;
  for (; !rig.out.empty() && calls < 100; ++calls) {
    const bool bad = std::ranges::count(rig.out.front().items, ItemId(40)) > 0;
    bad ? rig.fail_next(Fault::kTransient) : rig.answer_next();
  }
  EXPECT_LT(calls, 20);
  for (uint64_t id = 1; id <= 65; ++id)
    EXPECT_EQ(rig.how(id), id == 40 ? ItemEnd::kFailed : ItemEnd::kAnswered) << id;
}

TEST(DispatchPolicy, WhatFailedTogetherComesBackTogether) {
  DispatchPolicyOptions options = fixed({1});
  options.retry.backoff_base = seconds(10);
  Rig rig(options);
  for (uint64_t id = 1; id <= 9; ++id)
    rig.submit(id, {.pack = 1});
  rig.answer_next();
  rig.fail_next(Fault::kTransient);
  const auto at = rig.policy.wake_at();
  ASSERT_TRUE(at);
  rig.advance(*at - rig.now);
  EXPECT_EQ(rig.ids_out().size(), 4U);  // half of them
  rig.answer_next();
  EXPECT_EQ(rig.ids_out().size(), 4U);
}

TEST(DispatchPolicy, ABatchIsASmallPartOfAMinutesTokens) {
  DispatchPolicyOptions options = fixed({4});
  options.quotas = {{.tokens_per_minute = 1200}};
  Rig rig(options);
  for (uint64_t id = 1; id <= 40; ++id)
    rig.submit(id, {.tokens = 10, .pack = 1});
  size_t largest = 0;
  for (int i = 0; i < 200 && rig.ends.size() < 40; ++i) {
    while (!rig.out.empty()) {
      largest = std::max(largest, rig.out.front().items.size());
      rig.end_next({.tokens = static_cast<int64_t>(10 * rig.out.front().items.size())});
    }
    rig.advance(seconds(1));
  }
  EXPECT_EQ(rig.ends.size(), 40U);
  EXPECT_LE(largest, 10U);
}

// A server that answers only the first of several: that is found out once.
TEST(DispatchPolicy, AServerThatTakesNoArraysGetsNone) {
  Rig rig(fixed({1}));
  for (uint64_t id = 1; id <= 200; ++id)
    rig.submit(id, {.pack = 1});
  int failures = 0;
  for (int calls = 0; !rig.out.empty() && calls < 1000; ++calls) {
    if (rig.out.front().items.size() > 1) {
      ++failures;
      rig.end_next({.fault = Fault::kRequest, .unmatched = true});
    } else {
      rig.answer_next();
    }
  }
  EXPECT_LT(failures, 20);
  EXPECT_EQ(rig.ends.size(), 200U);
  for (const auto& [id, end] : rig.ends)
    EXPECT_EQ(end.how, ItemEnd::kAnswered);
}

TEST(DispatchPolicy, EachUpstreamHasItsLargestBatch) {
  DispatchPolicyOptions options = fixed({1, 1});
  options.upstreams[1].pack_rows_max = 1;
  Rig rig(options);
  for (uint64_t id = 1; id <= 40; ++id)
    rig.submit(id, {.pack = 1});
  size_t largest = 0;
  while (!rig.out.empty()) {
    const Send& send = rig.out.front();
    if (send.upstream == UpstreamId(1)) {
      EXPECT_EQ(send.items.size(), 1U);
    }
    largest = std::max(largest, send.items.size());
    rig.answer_next();
  }
  EXPECT_GT(largest, 1U);
  EXPECT_EQ(rig.ends.size(), 40U);
  EXPECT_EQ(rig.policy.counts().batched_rows, 40);
}

// The failure of the call names no row, and after a cancellation nothing is tried again.
TEST(DispatchPolicy, ABatchThatFailsAfterACancelIsCancelled) {
  Rig rig(fixed({1}));
  for (uint64_t id = 1; id <= 4; ++id)
    rig.submit(id, {.pack = 1});
  rig.answer_next();
  rig.cancel_waiting();
  rig.fail_next(Fault::kRequest);
  for (uint64_t id = 2; id <= 4; ++id)
    EXPECT_EQ(rig.how(id), ItemEnd::kCancelled);
}

TEST(DispatchPolicy, TheNextOfALaneWaitsForTheEndAlsoOfRetries) {
  DispatchPolicyOptions options = fixed({4});
  options.retry.backoff_base = seconds(1);
  Rig rig(options);
  rig.submit(1, {.lane = 3});
  rig.submit(2, {.lane = 3});
  rig.fail_next(Fault::kTransient);
  EXPECT_TRUE(rig.out.empty());
  rig.advance(seconds(2));
  EXPECT_EQ(rig.ids_out(), (Ids{1}));
  rig.answer_next();
  EXPECT_EQ(rig.ids_out(), (Ids{2}));
}

TEST(DispatchPolicy, WhatIsTooLateIsNotSent) {
  Rig rig(fixed({1}));
  rig.submit(1);
  rig.submit(2, {.deadline = kStart + seconds(5)});
  EXPECT_EQ(rig.policy.wake_at(), kStart + seconds(5));
  rig.advance(seconds(5));
  EXPECT_EQ(rig.how(2), ItemEnd::kExpired);
}

TEST(DispatchPolicy, AfterACancelNothingIsTriedAgain) {
  DispatchPolicyOptions options = fixed({2});
  options.retry.backoff_base = seconds(10);
  Rig rig(options);
  for (uint64_t id = 1; id <= 5; ++id)
    rig.submit(id);
  rig.end_next({.fault = Fault::kTransient, .retry_after = seconds(5)});
  rig.cancel_waiting();
  EXPECT_EQ(rig.how(1), ItemEnd::kCancelled);
  EXPECT_EQ(rig.how(5), ItemEnd::kCancelled);
  EXPECT_EQ(rig.out.size(), 2U);
  rig.fail_next(Fault::kTransient);
  rig.answer_next();
  EXPECT_EQ(rig.how(2), ItemEnd::kCancelled);
  EXPECT_EQ(rig.how(3), ItemEnd::kAnswered);
  EXPECT_EQ(rig.policy.unfinished(), 0U);
}

TEST(DispatchPolicy, StopsAtItsBudget) {
  DispatchPolicyOptions options = fixed({1});
  options.cost_max = 25;
  Rig rig(options);
  for (uint64_t id = 1; id <= 5; ++id)
    rig.submit(id, {.tokens = 10});
  for (int i = 0; i < 2; ++i)
    rig.end_next({.tokens = 10, .cost = 10});
  EXPECT_TRUE(rig.out.empty());
  EXPECT_TRUE(rig.policy.budget_is_spent());
  EXPECT_EQ(rig.policy.spent(), 20);
  rig.cancel_waiting();
  EXPECT_EQ(rig.policy.unfinished(), 0U);
}

// Prefix groups, shuffled, on two servers that keep what they computed: a group's beginning is
// seldom computed in both.
TEST(DispatchPolicy, RowsOfAGroupMeet) {
  Rig rig(fixed({4, 4}));
  Random random(5);
  std::map<uint64_t, uint64_t> groups;
  std::set<std::pair<uint32_t, uint64_t>> computed;
  std::map<uint32_t, int> calls;
  const auto answer = [&] {
    const Send& send = rig.out.front();
    ++calls[send.upstream.value()];
    computed.emplace(send.upstream.value(), groups[send.items.front().value()]);
    rig.answer_next();
  };
  for (uint64_t id = 1; id <= 4000; ++id) {
    groups[id] = 1 + random.below(100);
    rig.submit(id, {.tokens = 100, .group = groups[id]});
    while (rig.policy.unfinished() > 60)
      answer();
  }
  while (!rig.out.empty())
    answer();
  EXPECT_LT(computed.size(), 160U);  // 200: both compute every group
  EXPECT_NEAR(calls[0], calls[1], 400);
}

TEST(DispatchPolicy, AllUpstreamsTogetherKeepToTheLimitOfCalls) {
  DispatchPolicyOptions options = fixed({100, 100, 3});
  options.calls_max = 21;
  Rig rig(options);
  for (uint64_t id = 1; id <= 40; ++id)
    rig.submit(id);
  const auto out_at = [&](uint32_t upstream) {
    return std::ranges::count(rig.out, UpstreamId(upstream), &Send::upstream);
  };
  EXPECT_EQ(rig.out.size(), 21U);
  EXPECT_EQ(out_at(2), 3) << "who wants little gets it";
  EXPECT_EQ(out_at(0), 9);
  EXPECT_EQ(out_at(1), 9);
  EXPECT_TRUE(rig.policy.is_at_calls_max());
  while (!rig.out.empty()) {
    ASSERT_LE(rig.out.size(), 21U);
    rig.answer_next();
  }
  EXPECT_FALSE(rig.policy.is_at_calls_max());
  EXPECT_EQ(rig.policy.unfinished(), 0U);
}

// 40 rows at a server that takes all, in a process that has files for 12 connections.
TEST(DispatchPolicy, AShortageOfFilesShrinksTheWindowAndCostsNothing) {
  Rig rig(fixed({40}));
  for (uint64_t id = 1; id <= 40; ++id)
    rig.submit(id);
  EXPECT_EQ(rig.out.size(), 40U);
  for (int i = 0; i < 28; ++i)
    rig.fail_next(Fault::kShortOfFiles);
  EXPECT_EQ(rig.out.size(), 12U);
  EXPECT_EQ(rig.policy.limit(UpstreamId(0)), 12);
  EXPECT_EQ(rig.policy.health(UpstreamId(0)), Health::kGood);
  size_t most = 0;
  while (rig.policy.unfinished() > 0) {
    if (rig.out.empty()) {
      rig.advance(std::chrono::seconds(1));
      continue;
    }
    rig.answer_next();
    rig.advance(std::chrono::seconds(1));
    most = std::max(most, rig.out.size());
  }
  EXPECT_LE(most, 16U) << "it grows by one with each round";
  for (uint64_t id = 1; id <= 40; ++id) {
    EXPECT_EQ(rig.how(id), ItemEnd::kAnswered);
    EXPECT_EQ(rig.ends.at(id).attempts.used, 1);
    EXPECT_EQ(rig.ends.at(id).attempts.refused, 0);
  }
}

}  // namespace
}  // namespace windrow::dispatch
