// Requests that are cancelled, wherever they are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <stop_token>
#include <vector>

#include "dispatch/testing/offer_rig.h"
#include "dispatch/testing/raw_rows.h"

namespace windrow::dispatch {
namespace {

using std::chrono::seconds;
using testing::OfferRig;

const WorkItem kSame{.same_answer = Hash128{1, 1}};

TEST(DispatcherCancel, TheBackendIsToldWhenACallIsNotWantedAnyMore) {
  OfferRig rig({.in_flight_max = 2});
  const auto first = rig.offer("a");
  ASSERT_TRUE(rig.offer("b"));
  rig.dispatcher.cancel(*first);
  rig.dispatcher.cancel(*first);
  EXPECT_EQ(rig.backend.unwanted(), 1);
  EXPECT_FALSE(rig.has_ended("a")) << "it ends with its call";
  EXPECT_EQ(rig.backend.end_unwanted(), 1U);
  EXPECT_TRUE(rig.was_cancelled("a"));
  rig.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(rig.was_answered("b"));
}

TEST(DispatcherCancel, WhatIsUnwantedIsNotTriedAgain) {
  OfferRig rig({.in_flight_max = 1, .attempts_max = 5});
  const auto id = rig.offer("a");
  rig.dispatcher.cancel(*id);
  rig.backend.answer_next(testing::failure(llm::FailureClass::kTransient));
  EXPECT_TRUE(rig.was_cancelled("a"));
  EXPECT_EQ(rig.backend.held(), 0U);
}

TEST(DispatcherCancel, WhatWaitsToBeTriedAgainEndsAtOnce) {
  OfferRig rig({.in_flight_max = 1, .backoff_base = seconds(100)});
  const auto id = rig.offer("a");
  llm::Failure failure = testing::failure(llm::FailureClass::kTransient);
  failure.retry_after_ms = 50'000;
  rig.backend.answer_next(failure);
  EXPECT_TRUE(rig.waker.at());
  rig.dispatcher.cancel(*id);
  EXPECT_TRUE(rig.was_cancelled("a"));
  EXPECT_EQ(rig.waker.at(), std::nullopt);
}

TEST(DispatcherCancel, AFollowerGetsTheAnswerWhenItsLeaderLeaves) {
  OfferRig rig({.in_flight_max = 2});
  const auto first = rig.offer("a", kSame);
  ASSERT_TRUE(rig.offer("b", kSame));
  ASSERT_TRUE(rig.offer("c", kSame));
  rig.dispatcher.cancel(*first);
  EXPECT_TRUE(rig.was_cancelled("a"));
  EXPECT_EQ(rig.backend.unwanted(), 0);
  EXPECT_EQ(rig.backend.held(), 1U);
  rig.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(rig.was_answered("b"));
  EXPECT_TRUE(rig.was_answered("c"));
  EXPECT_EQ(rig.ends.at("b").source, OutcomeSource::kAsked);
  EXPECT_EQ(rig.ends.at("b").attempts, 1);
  EXPECT_EQ(rig.ends.at("c").source, OutcomeSource::kShared);
  EXPECT_EQ(rig.backend.held(), 0U) << "nothing was asked again";
}

TEST(DispatcherCancel, WhatTheAskerSpentIsItsHeirs) {
  OfferRig rig({.in_flight_max = 1, .attempts_max = 3});
  const auto first = rig.offer("a", kSame);
  ASSERT_TRUE(rig.offer("b", kSame));
  llm::Failure failure = testing::failure(llm::FailureClass::kTransient);
  failure.usage.completion_tokens = 7;
  failure.message = "half of it";
  rig.backend.answer_next(failure);
  rig.dispatcher.cancel(*first);
  EXPECT_EQ(rig.ends.at("a").tokens, 0);
  rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(rig.ends.at("b").tokens, 7);
  EXPECT_EQ(rig.ends.at("b").attempts, 2);
  EXPECT_EQ(rig.ends.at("b").earlier_failure, "half of it");
}

TEST(DispatcherCancel, AFollowerThatIsCancelledEndsAlone) {
  OfferRig rig({.in_flight_max = 1});
  ASSERT_TRUE(rig.offer("a", kSame));
  const auto second = rig.offer("b", kSame);
  ASSERT_TRUE(rig.offer("c", kSame));
  rig.dispatcher.cancel(*second);
  EXPECT_TRUE(rig.was_cancelled("b"));
  rig.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(rig.was_answered("a"));
  EXPECT_TRUE(rig.was_answered("c"));
}

TEST(DispatcherCancel, WhenAllHaveLeftTheCallIsStopped) {
  OfferRig rig({.in_flight_max = 2});
  const auto first = rig.offer("a", kSame);
  const auto second = rig.offer("b", kSame);
  rig.dispatcher.cancel(*first);
  EXPECT_EQ(rig.backend.unwanted(), 0);
  rig.dispatcher.cancel(*second);
  EXPECT_EQ(rig.backend.unwanted(), 1);
  // An equal request that comes now does not join a call that is being stopped.
  ASSERT_TRUE(rig.offer("c", kSame));
  EXPECT_EQ(rig.backend.held(), 2U);
  EXPECT_EQ(rig.backend.end_unwanted(), 1U);
  EXPECT_TRUE(rig.was_cancelled("b"));
  rig.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(rig.was_answered("c"));
}

TEST(DispatcherCancel, AnHeirGoesWhereItsLeaderWasInTheQueue) {
  OfferRig rig({.in_flight_max = 1, .waiting_max = 8});
  ASSERT_TRUE(rig.offer("out"));
  const auto leader = rig.offer("a", kSame);
  ASSERT_TRUE(rig.offer("b"));
  ASSERT_TRUE(rig.offer("heir", kSame));
  rig.dispatcher.cancel(*leader);
  rig.backend.answer_next(llm::Answer{});
  rig.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(rig.was_answered("heir"));
  EXPECT_FALSE(rig.has_ended("b"));
  rig.backend.answer_next(llm::Answer{});
}

TEST(DispatcherCancel, AnInteractiveFollowerRaisesItsLeader) {
  OfferRig rig({.in_flight_max = 1, .waiting_max = 8});
  ASSERT_TRUE(rig.offer("out"));
  ASSERT_TRUE(rig.offer("normal", {.priority = Priority::kNormal}));
  ASSERT_TRUE(rig.offer("slow", {.priority = Priority::kBatch, .same_answer = Hash128{1, 1}}));
  ASSERT_TRUE(
      rig.offer("fast", {.priority = Priority::kInteractive, .same_answer = Hash128{1, 1}}));
  EXPECT_EQ(rig.dispatcher.queue().waiting, (std::array<int32_t, 3>{1, 1, 0}));
  rig.backend.answer_next(llm::Answer{});
  rig.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(rig.was_answered("fast"));
  EXPECT_FALSE(rig.has_ended("normal"));
  rig.backend.answer_next(llm::Answer{});
}

TEST(DispatcherCancel, AFollowersDeadlineIsItsOwn) {
  OfferRig rig({.in_flight_max = 1, .waiting_max = 8});
  ASSERT_TRUE(rig.offer("out"));
  ASSERT_TRUE(rig.offer("leader", kSame));
  WorkItem dated = kSame;
  dated.deadline = rig.clock.now() + seconds(5);
  ASSERT_TRUE(rig.offer("dated", dated));
  ASSERT_TRUE(rig.waker.jump());
  ASSERT_TRUE(rig.has_ended("dated"));
  EXPECT_EQ(std::get<llm::Failure>(rig.ends.at("dated").outcome).status, 408);
  // What is sent in time is waited for.
  rig.backend.answer_next(llm::Answer{});
  dated.deadline = rig.clock.now() + seconds(5);
  ASSERT_TRUE(rig.offer("in time", dated));
  rig.waker.jump();
  EXPECT_FALSE(rig.has_ended("in time"));
  rig.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(rig.was_answered("in time"));
}

TEST(DispatcherCancel, ALeaderThatIsTooLateLeavesItsPlaceToTheNext) {
  OfferRig rig({.in_flight_max = 1, .waiting_max = 8});
  ASSERT_TRUE(rig.offer("out"));
  WorkItem dated = kSame;
  dated.deadline = rig.clock.now() + seconds(5);
  ASSERT_TRUE(rig.offer("leader", dated));
  ASSERT_TRUE(rig.offer("next", kSame));
  ASSERT_TRUE(rig.waker.jump());
  EXPECT_TRUE(rig.has_ended("leader"));
  rig.backend.answer_next(llm::Answer{});
  rig.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(rig.was_answered("next"));
}

TEST(DispatcherCancel, ACallOfSeveralIsStoppedWhenAllAreCancelled) {
  OfferRig rig({.in_flight_max = 1, .waiting_max = 8, .packer = {.rows_max = 8}});
  ASSERT_TRUE(rig.offer("out"));
  std::vector<ItemId> items;
  int ended = 0;
  for (int i = 0; i < 3; ++i) {
    llm::Request request = testing::raw_row(llm::Endpoint::kEmbeddings,
                                            fmt::format(R"({{"model":"m","input":"{}"}})", i));
    const WorkItem item = testing::item_of(request);
    const auto id =
        rig.dispatcher.offer(std::move(request), item, 0, [&](const DispatchResult&) { ++ended; });
    items.push_back(*id);
  }
  rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(rig.backend.held(), 1U) << "all in one call";
  rig.dispatcher.cancel(items[2]);
  rig.dispatcher.cancel(items[0]);
  EXPECT_EQ(rig.backend.unwanted(), 0);
  rig.dispatcher.cancel(items[1]);
  EXPECT_EQ(rig.backend.unwanted(), 1);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(rig.backend.end_unwanted(), 1U);
  EXPECT_EQ(ended, 3);
}

TEST(DispatcherCancel, MayComeFromWithinADone) {
  OfferRig rig({.in_flight_max = 1, .waiting_max = 8});
  std::optional<ItemId> second;
  ASSERT_TRUE(rig.dispatcher.offer({}, {}, 0,
                                   [&](const DispatchResult&) { rig.dispatcher.cancel(*second); }));
  second = rig.offer("b");
  ASSERT_TRUE(second);
  rig.backend.answer_next(llm::Answer{});
  EXPECT_FALSE(rig.has_ended("b")) << "it was handed over before";
  EXPECT_EQ(rig.backend.end_unwanted(), 1U);
  EXPECT_TRUE(rig.was_cancelled("b"));
}

// The order of events that a hand-over and a cancel may come in: it was decided, and the backend
// does not have it yet.
TEST(DispatcherCancel, MayComeBeforeTheBackendHasTheRequest) {
  OfferRig rig({.in_flight_max = 1});
  int times = 0;
  rig.backend.before_submit = [&] {
    if (++times == 1) rig.dispatcher.cancel(ItemId(1));
  };
  ASSERT_EQ(rig.offer("a"), ItemId(1));
  EXPECT_EQ(rig.backend.unwanted(), 1);
  EXPECT_EQ(rig.backend.end_unwanted(), 1U);
  EXPECT_TRUE(rig.was_cancelled("a"));
}

}  // namespace
}  // namespace windrow::dispatch
