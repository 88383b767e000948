// Replies that a sink takes piece by piece, and items with their own number of attempts, through
// the whole dispatcher.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dispatch/testing/offer_rig.h"
#include "llm/reply_sink.h"

namespace windrow::dispatch {
namespace {

using testing::OfferRig;

class Taker final : public llm::ReplySink {
 public:
  size_t bytes_max() const override { return 1000; }
  Take on_bytes(std::string_view bytes) override {
    text += bytes;
    return Take::kMore;
  }

  std::string text;
};

class DispatcherSink : public ::testing::Test {
 protected:
  std::optional<ItemId> offer(const std::string& name, std::shared_ptr<llm::ReplySink> sink,
                              WorkItem item = {}) {
    llm::Request request;
    request.model = name;
    request.verbatim.emplace();
    return rig_.dispatcher.offer(std::move(request), item, 0,
                                 [this, name](DispatchResult result) {
                                   EXPECT_FALSE(rig_.has_ended(name)) << name << " ended twice";
                                   rig_.ends.emplace(name, std::move(result));
                                 },
                                 {.reply_sink = std::move(sink)});
  }

  OfferRig rig_{{.in_flight_max = 4, .attempts_max = 5}};
};

TEST_F(DispatcherSink, GetsTheBytesAndThenTheOutcome) {
  const auto taker = std::make_shared<Taker>();
  offer("a", taker);
  EXPECT_EQ(rig_.backend.reply("one "), llm::ReplySink::Take::kMore);
  rig_.backend.reply("two");
  EXPECT_FALSE(rig_.has_ended("a"));
  llm::Answer answer;
  answer.verbatim = {.status = 200, .content_type = "text/plain"};
  rig_.backend.answer_next(answer);
  EXPECT_EQ(taker->text, "one two");
  ASSERT_TRUE(rig_.was_answered("a"));
  EXPECT_EQ(std::get<llm::Answer>(rig_.ends.at("a").outcome).verbatim->content_type, "text/plain");
  EXPECT_EQ(taker.use_count(), 1) << "it is its owner's again";
}

TEST_F(DispatcherSink, AReplyThatWasBegunIsNotAskedForAgain) {
  const auto taker = std::make_shared<Taker>();
  offer("a", taker);
  rig_.backend.answer_next(testing::failure(llm::FailureClass::kTransient));
  EXPECT_FALSE(rig_.has_ended("a")) << "nothing came: it is tried again";
  rig_.backend.reply("one ");
  llm::Failure broken = testing::failure(llm::FailureClass::kTransient);
  broken.code = "connection_reset";
  rig_.backend.answer_next(broken);
  EXPECT_EQ(rig_.backend.held(), 0U);
  ASSERT_TRUE(rig_.has_ended("a"));
  EXPECT_EQ(std::get<llm::Failure>(rig_.ends.at("a").outcome).code, "connection_reset");
  EXPECT_EQ(rig_.ends.at("a").attempts, 2);
  EXPECT_EQ(taker->text, "one ");
}

TEST_F(DispatcherSink, EqualRequestsEachHaveTheirOwn) {
  const WorkItem same{.pack = 3, .same_answer = Hash128{1, 1}};
  const auto one = std::make_shared<Taker>();
  const auto other = std::make_shared<Taker>();
  offer("a", one, same);
  offer("b", other, same);
  EXPECT_EQ(rig_.backend.held(), 2U);
  rig_.backend.reply("one");
  rig_.backend.answer_next(llm::Answer{});
  rig_.backend.reply("other");
  rig_.backend.answer_next(llm::Answer{});
  EXPECT_EQ(one->text, "one");
  EXPECT_EQ(other->text, "other");
}

TEST_F(DispatcherSink, CancelledInTheMiddleItEndsWhenTheBackendSaysSo) {
  const auto taker = std::make_shared<Taker>();
  const std::optional<ItemId> item = offer("a", taker);
  rig_.backend.reply("one");
  rig_.dispatcher.cancel(*item);
  EXPECT_FALSE(rig_.has_ended("a"));
  EXPECT_EQ(rig_.backend.end_unwanted(), 1U);
  EXPECT_TRUE(rig_.was_cancelled("a"));
  EXPECT_EQ(taker.use_count(), 1);
}

TEST_F(DispatcherSink, AnItemThatIsTriedOnceFailsWithItsFirstFailure) {
  ASSERT_TRUE(rig_.offer("once", {.attempts_max = 1}));
  llm::Failure refused = testing::failure(llm::FailureClass::kTransient);
  refused.overloaded = true;
  rig_.backend.answer_next(refused);
  ASSERT_TRUE(rig_.has_ended("once"));
  EXPECT_EQ(rig_.ends.at("once").attempts, 1);
  ASSERT_TRUE(rig_.offer("often", {}));
  rig_.backend.answer_next(testing::failure(llm::FailureClass::kTransient));
  EXPECT_FALSE(rig_.has_ended("often"));
  rig_.backend.answer_next(llm::Answer{});
  EXPECT_TRUE(rig_.was_answered("often"));
}

}  // namespace
}  // namespace windrow::dispatch
