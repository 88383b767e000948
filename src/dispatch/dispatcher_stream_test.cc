// Requests that are heard while they are answered.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dispatch/testing/offer_rig.h"

namespace windrow::dispatch {
namespace {

using testing::Notes;
using testing::OfferRig;

const WorkItem kSame{.same_answer = Hash128{1, 1}};

TEST(DispatcherStream, EqualOnesAreAskedOnceAndEachHearsAll) {
  OfferRig rig({.in_flight_max = 4});
  const auto first = std::make_shared<Notes>();
  const auto second = std::make_shared<Notes>();
  const auto last = std::make_shared<Notes>();
  ASSERT_TRUE(rig.offer("a", kSame, first));
  rig.backend.say("one ");
  rig.backend.say("two ");
  ASSERT_TRUE(rig.offer("b", kSame, second));
  EXPECT_EQ(rig.backend.held(), 1U);
  rig.backend.say("three");
  EXPECT_EQ(first->text, "one two three");
  EXPECT_EQ(second->text, "one two three");
  // The last one comes when all was said.
  ASSERT_TRUE(rig.offer("c", kSame, last));
  rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(last->text, "one two three");
  EXPECT_TRUE(rig.was_answered("a") && rig.was_answered("b") && rig.was_answered("c"));
  EXPECT_EQ(first->pieces, 3);
}

TEST(DispatcherStream, WhatIsHeardIsNotSharedWithWhatIsNot) {
  OfferRig rig({.in_flight_max = 4});
  ASSERT_TRUE(rig.offer("a", kSame));
  ASSERT_TRUE(rig.offer("b", kSame, std::make_shared<Notes>()));
  EXPECT_EQ(rig.backend.held(), 2U);
  llm::Request raw;
  raw.raw = "{}";
  ASSERT_TRUE(rig.dispatcher.offer(std::move(raw), kSame, 0, [](const DispatchResult&) {},
                                   {.listener = std::make_shared<Notes>()}));
  EXPECT_EQ(rig.backend.held(), 3U);
  rig.dispatcher.cancel_all();
}

TEST(DispatcherStream, WhenItsAskerLeavesTheOthersHearOn) {
  OfferRig rig({.in_flight_max = 4});
  const auto first = std::make_shared<Notes>();
  const auto second = std::make_shared<Notes>();
  const auto third = std::make_shared<Notes>();
  const auto a = rig.offer("a", kSame, first);
  ASSERT_TRUE(rig.offer("b", kSame, second));
  const auto c = rig.offer("c", kSame, third);
  rig.backend.say("one ");
  rig.dispatcher.cancel(*a);
  EXPECT_TRUE(rig.was_cancelled("a"));
  rig.backend.say("two ");
  rig.dispatcher.cancel(*c);
  rig.backend.say("three");
  EXPECT_EQ(rig.backend.unwanted(), 0);
  rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(first->text, "one ");
  EXPECT_EQ(second->text, "one two three");
  EXPECT_EQ(third->text, "one two ");
  EXPECT_TRUE(rig.was_answered("b"));
}

TEST(DispatcherStream, IsNotBegunTwice) {
  OfferRig rig({.in_flight_max = 4, .attempts_max = 5});
  const auto first = std::make_shared<Notes>();
  ASSERT_TRUE(rig.offer("a", kSame, first));
  ASSERT_TRUE(rig.offer("b", kSame, std::make_shared<Notes>()));
  rig.backend.answer_next(testing::failure(llm::FailureClass::kTransient));
  EXPECT_FALSE(rig.has_ended("a")) << "nothing was said: it is tried again";
  rig.backend.say("one ");
  llm::Failure broken = testing::failure(llm::FailureClass::kTransient);
  broken.code = "broken";
  rig.backend.answer_next(broken);
  EXPECT_EQ(rig.backend.held(), 0U);
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(rig.has_ended(name));
    EXPECT_EQ(std::get<llm::Failure>(rig.ends.at(name).outcome).code, "broken");
    EXPECT_EQ(rig.ends.at(name).attempts, 2);
  }
  EXPECT_EQ(first->text, "one ");
}

// The backend ends the call as cancelled, though no item was: a follower that has got the first
// deltas ends too, and is not sent again.
TEST(DispatcherStream, AFollowerOfACallThatWasBrokenOffEndsWithIt) {
  OfferRig rig({.in_flight_max = 4});
  ASSERT_TRUE(rig.offer("a", kSame, std::make_shared<Notes>()));
  ASSERT_TRUE(rig.offer("b", kSame, std::make_shared<Notes>()));
  rig.backend.say("one ");
  rig.backend.answer_next(testing::failure(llm::FailureClass::kCancelled));
  EXPECT_TRUE(rig.was_cancelled("a"));
  EXPECT_TRUE(rig.was_cancelled("b"));
  EXPECT_EQ(rig.backend.held(), 0U);
}

TEST(DispatcherStream, MayBeCancelledFromWithinAPiece) {
  OfferRig rig({.in_flight_max = 4});
  const auto first = std::make_shared<Notes>();
  const auto second = std::make_shared<Notes>();
  const auto a = rig.offer("a", kSame, first);
  ASSERT_TRUE(rig.offer("b", kSame, second));
  bool ended_inside = false;
  first->on_heard = [&] {
    rig.dispatcher.cancel(*a);
    ended_inside = rig.has_ended("a");
  };
  rig.backend.say("one ");
  EXPECT_FALSE(ended_inside) << "not while it is being told something";
  EXPECT_TRUE(rig.was_cancelled("a"));
  rig.backend.say("two");
  EXPECT_EQ(first->text, "one ");
  EXPECT_EQ(second->text, "one two");
  rig.backend.answer_next(llm::Answer{});
}

TEST(DispatcherStream, NothingIsHeardAfterTheEndAlsoWhenBothComeAtOnce) {
  OfferRig rig({.in_flight_max = 4});
  const auto first = std::make_shared<Notes>();
  const auto a = rig.offer("a", kSame, first);
  ASSERT_TRUE(rig.offer("b", kSame, std::make_shared<Notes>()));
  // Another thread cancels while the first is told something: its end waits for that.
  first->on_heard = [&] {
    std::jthread([&] { rig.dispatcher.cancel(*a); }).join();
    EXPECT_FALSE(rig.has_ended("a"));
  };
  rig.backend.say("one ");
  EXPECT_TRUE(rig.was_cancelled("a"));
  EXPECT_EQ(first->pieces, 1);
  rig.backend.answer_next(llm::Answer{});
}

TEST(DispatcherStream, GoesAlone) {
  OfferRig rig({.in_flight_max = 1, .waiting_max = 8, .packer = {.rows_max = 8}});
  ASSERT_TRUE(rig.offer("out"));
  ASSERT_TRUE(rig.offer("a", {.pack = 1}, std::make_shared<Notes>()));
  ASSERT_TRUE(rig.offer("b", {.pack = 1}, std::make_shared<Notes>()));
  rig.backend.answer_next(llm::Answer{});
  EXPECT_EQ(rig.backend.names(), (std::vector<std::string>{"a"}));
  rig.dispatcher.cancel_all();
}

}  // namespace
}  // namespace windrow::dispatch
