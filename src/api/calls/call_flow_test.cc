#include "api/calls/call_flow.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <string>
#include <vector>

#include "api/testing/events.h"
#include "api/wire/stream_text.h"
#include "base/random.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using llm::Answer;
using llm::Delta;
using llm::Failure;
using llm::FailureClass;
using std::chrono::seconds;
using testing::events_in;

constexpr TimePoint kStart{seconds(100)};
const Answer kAnswer{.choices = {{.text = "hello"}}};
const Failure kFailure{.failure_class = FailureClass::kBackend,
                       .status = 500,
                       .code = "engine_error",
                       .message = "why"};

CallFlow streaming() {
  CallFlow flow(kStart);
  flow.set_stream(std::make_unique<StreamText>(StreamShape{.id = "7", .model = "m"}));
  return flow;
}

std::vector<Delta> text(std::string text) {
  return {{.text = std::move(text)}};
}

// What chunks say in all.
std::string content_of(const std::string& bytes) {
  std::string content;
  for (const std::string& event : events_in(bytes)) {
    if (event == "[DONE]") continue;
    const json::value chunk = json::parse(event);
    if (!chunk.as_object().contains("choices")) continue;
    const json::object& delta = chunk.at("choices").at(0).at("delta").as_object();
    if (delta.contains("content")) content += delta.at("content").as_string();
  }
  return content;
}

TEST(CallFlow, AnAnswerIsAReplyAndTheEnd) {
  CallFlow flow(kStart);
  const CallSteps steps = flow.end(http::ServerReply{.body = "{}"});
  EXPECT_EQ(steps.reply.value().body, "{}");
  EXPECT_TRUE(steps.over);
  EXPECT_FALSE(steps.cancel);
  EXPECT_EQ(flow.status(), 200);
  EXPECT_EQ(flow.code(), "");
}

TEST(CallFlow, AFailureIsAReplyWithItsStatus) {
  for (const bool stream : {false, true}) {
    CallFlow flow = stream ? streaming() : CallFlow(kStart);
    const CallSteps steps = flow.end(llm::Outcome(kFailure));
    EXPECT_EQ(steps.reply.value().status, 500);
    EXPECT_FALSE(steps.start);
    EXPECT_TRUE(steps.over);
    EXPECT_EQ(flow.status(), 500);
    EXPECT_EQ(flow.code(), "engine_error");
  }
}

TEST(CallFlow, AStreamBeginsWithItsFirstPieceAndEndsWithTheAnswer) {
  CallFlow flow = streaming();
  CallSteps steps = flow.emit(text("he"), false, kStart);
  EXPECT_TRUE(steps.start);
  EXPECT_EQ(content_of(steps.bytes), "he");
  EXPECT_FALSE(steps.finish);
  steps = flow.emit(text("l"), false, kStart);
  EXPECT_FALSE(steps.start);
  steps = flow.end(llm::Outcome(kAnswer));
  EXPECT_EQ(content_of(steps.bytes), "lo");
  EXPECT_EQ(events_in(steps.bytes).back(), "[DONE]");
  EXPECT_TRUE(steps.finish);
  EXPECT_TRUE(steps.over);
  EXPECT_EQ(flow.status(), 200);
}

TEST(CallFlow, AStreamThatFailsAfterItsBeginningSaysSoAndHasNoDone) {
  CallFlow flow = streaming();
  flow.emit(text("he"), false, kStart);
  const CallSteps steps = flow.end(llm::Outcome(kFailure));
  const std::vector<std::string> events = events_in(steps.bytes);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(json::parse(events[0]).at("error").at("code"), "engine_error");
  EXPECT_TRUE(steps.finish);
  EXPECT_FALSE(steps.reply.has_value());
  EXPECT_TRUE(steps.over);
  EXPECT_EQ(flow.status(), 200);
  EXPECT_EQ(flow.code(), "engine_error");
}

TEST(CallFlow, WhatASlowClientHasNotTakenBecomesOneEvent) {
  CallFlow flow = streaming();
  flow.emit(text("a"), false, kStart);
  EXPECT_EQ(flow.emit(text("b"), true, kStart).bytes, "");
  EXPECT_EQ(flow.emit(text("c"), true, kStart).bytes, "");
  const CallSteps steps = flow.drained(kStart);
  EXPECT_EQ(content_of(steps.bytes), "bc");
  EXPECT_EQ(events_in(steps.bytes).size(), 1U);
  EXPECT_EQ(flow.drained(kStart).bytes, "");
}

TEST(CallFlow, AClientThatLeavesCancelsAndIsOverWithTheRequest) {
  CallFlow flow = streaming();
  flow.emit(text("a"), false, kStart);
  const CallSteps steps = flow.leave();
  EXPECT_TRUE(steps.cancel);
  EXPECT_FALSE(steps.over);
  EXPECT_EQ(flow.emit(text("b"), false, kStart).bytes, "");
  const CallSteps end = flow.end(llm::Outcome(Failure{.failure_class = FailureClass::kCancelled}));
  EXPECT_TRUE(end.over);
  EXPECT_FALSE(end.reply.has_value());
  EXPECT_FALSE(end.finish);
  EXPECT_EQ(flow.status(), 499);
  EXPECT_EQ(flow.code(), "client_left");
}

TEST(CallFlow, AServerThatStopsAnswersAndCancels) {
  CallFlow flow(kStart);
  const CallSteps steps = flow.give_up(kFailure);
  EXPECT_EQ(steps.reply.value().status, 500);
  EXPECT_TRUE(steps.cancel);
  EXPECT_FALSE(steps.over);
  EXPECT_FALSE(flow.give_up(kFailure).cancel);
  EXPECT_TRUE(flow.end(llm::Outcome(kAnswer)).over);
}

TEST(CallFlow, AQuietStreamIsKeptAliveAndThenFailsAsOne) {
  CallFlow flow = streaming();
  EXPECT_FALSE(flow.tick(kStart + seconds(9)).start);
  CallSteps steps = flow.tick(kStart + seconds(10));
  EXPECT_TRUE(steps.start);
  EXPECT_EQ(steps.bytes, ": waiting\n\n");
  EXPECT_EQ(flow.tick(kStart + seconds(19)).bytes, "");
  EXPECT_EQ(flow.tick(kStart + seconds(20)).bytes, ": waiting\n\n");
  steps = flow.end(llm::Outcome(kFailure));
  EXPECT_EQ(events_in(steps.bytes).size(), 1U);
  EXPECT_FALSE(steps.reply.has_value());
}

TEST(CallFlow, AnAnswerThatIsNoStreamWaitsInSilence) {
  CallFlow flow(kStart);
  const CallSteps steps = flow.tick(kStart + seconds(1000));
  EXPECT_EQ(steps.bytes, "");
  EXPECT_FALSE(steps.start);
}

TEST(CallFlow, ADeadlineAnswersAndCancels) {
  CallFlow flow(kStart);
  flow.set_deadline(kStart + seconds(5));
  EXPECT_FALSE(flow.tick(kStart + seconds(4)).cancel);
  const CallSteps steps = flow.tick(kStart + seconds(5));
  EXPECT_TRUE(steps.cancel);
  EXPECT_EQ(steps.reply.value().status, 408);
  EXPECT_EQ(flow.code(), "deadline_exceeded");
}

// Every order of events, checked against what a client and a dispatcher may see.
TEST(CallFlow, KeepsItsPromisesInAnyOrder) {
  constexpr uint64_t kSeed = 77;
  for (uint64_t seed = kSeed; seed < kSeed + 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool stream = random.chance(0.7);
    CallFlow flow = stream ? streaming() : CallFlow(kStart);
    if (random.chance(0.3)) flow.set_deadline(kStart + seconds(random.between(1, 60)));
    const std::string whole = "abcdefghijklmnopqrstuvwxyz";
    const auto said_max = static_cast<size_t>(random.between(0, 26));
    size_t said = 0;
    TimePoint now = kStart;
    bool left = false;
    bool ended = false;
    int replies = 0;
    int starts = 0;
    int finishes = 0;
    int cancels = 0;
    int overs = 0;
    std::string bytes;
    const auto see = [&](const CallSteps& steps) {
      EXPECT_LE(int{steps.reply.has_value()} + int{steps.start}, 1);
      const bool complete = replies + finishes > 0;
      if (complete || left) {
        EXPECT_FALSE(steps.reply.has_value() || steps.start || steps.finish);
        EXPECT_EQ(steps.bytes, "");
      }
      replies += int{steps.reply.has_value()};
      starts += int{steps.start};
      if (!steps.bytes.empty() || steps.finish) {
        EXPECT_EQ(starts, 1);
      }
      bytes += steps.bytes;
      finishes += int{steps.finish};
      if (steps.cancel) {
        EXPECT_FALSE(ended);
      }
      cancels += int{steps.cancel};
      overs += int{steps.over};
    };
    bool answered = false;
    while (!ended) {
      switch (random.below(10)) {
        case 0:
          see(flow.leave());
          left = left || (replies + finishes == 0);
          break;
        case 1:
          if (random.chance(0.2)) see(flow.give_up(kFailure));
          break;
        case 2:
          now += seconds(random.between(0, 12));
          see(flow.tick(now));
          break;
        case 3:
          if (stream) see(flow.drained(now));
          break;
        case 4: {
          const bool answer = random.chance(0.8);
          const bool listened = !left && replies + finishes == 0;
          CallSteps steps;
          if (!answer) {
            steps = flow.end(llm::Outcome(kFailure));
          } else if (stream) {
            steps = flow.end(llm::Outcome(Answer{.choices = {{.text = whole}}}));
          } else {
            steps = flow.end(http::ServerReply{.body = "{}"});
          }
          see(steps);
          ended = true;
          answered = answer && listened;
          break;
        }
        default:
          if (!stream || said >= said_max) break;
          see(flow.emit(text(whole.substr(said++, 1)), random.chance(0.5), now));
      }
    }
    see(flow.leave());
    see(flow.give_up(kFailure));
    see(flow.tick(now + seconds(100)));
    if (stream) see(flow.drained(now));
    EXPECT_EQ(overs, 1);
    EXPECT_LE(cancels, 1);
    EXPECT_EQ(replies + finishes, left ? 0 : 1);
    if (left) {
      EXPECT_EQ(flow.status(), 499);
    }
    if (stream) {
      EXPECT_TRUE(whole.starts_with(content_of(bytes))) << bytes;
      if (answered) {
        EXPECT_EQ(content_of(bytes), whole);
      }
      EXPECT_EQ(bytes.find("[DONE]") != std::string::npos, answered);
    }
  }
}

}  // namespace
}  // namespace windrow::api
