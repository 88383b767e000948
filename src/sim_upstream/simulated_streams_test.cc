// Streams of the simulated upstream: when which of their events is due, and what faults do to them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sim_upstream/simulated_upstream.h"

namespace windrow::sim_upstream {
namespace {

using boost::json::parse;
using std::chrono::milliseconds;

constexpr TimePoint kStart{};

// 3 prompt tokens, answers of exactly 10: the first of them after 13 ms, all after 103.
SimOptions options() {
  return {.prompt_token_time = milliseconds(1), .answer_tokens = 10, .answer_spread = 0};
}

SimOptions struck_by(std::string_view fault) {
  SimOptions some = options();
  some.faults = {*parse_fault(fault)};
  return some;
}

std::string chat(std::string_view text, bool stream = true) {
  return fmt::format(R"({{"model":"m","messages":[{{"role":"user","content":"{}"}}],"stream":{}}})",
                     text, stream);
}

struct Heard {
  std::string body;
  std::vector<TimePoint> times;  // of its parts
  Delivery end = Delivery::kWhole;
  bool ended = false;
};

class Rig {
 public:
  explicit Rig(SimOptions options) : upstream(std::move(options)) {}

  SimRequestId ask(std::string_view body, TimePoint at = kStart,
                   std::string_view path = "/v1/chat/completions") {
    return upstream.arrive({.method = "POST", .path = path, .authorization = {}, .body = body}, at);
  }

  void run(TimePoint until = TimePoint::max()) {
    for (;;) {
      const std::optional<TimePoint> next = upstream.next_event();
      if (!next || *next > until) return;
      now = std::max(now, *next);
      for (SimReply& reply : upstream.advance(now)) {
        Heard& one = heard[reply.request];
        EXPECT_FALSE(one.ended);
        EXPECT_TRUE(reply.delivery != Delivery::kPart || !reply.body.empty());
        one.body += reply.body;
        one.times.push_back(now);
        one.end = reply.delivery;
        one.ended = reply.delivery != Delivery::kPart;
        if (one.times.size() == 1) first[reply.request] = reply;
      }
    }
  }

  SimulatedUpstream upstream;
  TimePoint now = kStart;
  std::map<SimRequestId, Heard> heard;
  std::map<SimRequestId, SimReply> first;
};

// The text of the events there are, whole ones and the half of a last one left out.
std::string text_of(std::string_view body) {
  std::string text;
  for (size_t end = body.find("\n\n"); end != std::string_view::npos; end = body.find("\n\n")) {
    const std::string_view data = body.substr(6, end - 6);
    body.remove_prefix(end + 2);
    if (data == "[DONE]") continue;
    boost::system::error_code error;
    const boost::json::value event = parse(data, error);
    if (error) continue;
    const boost::json::value* content = event.find_pointer("/choices/0/delta/content", error);
    if (content != nullptr) text += content->as_string();
  }
  return text;
}

std::string whole_text(const SimOptions& like, std::string_view text) {
  Rig rig(like);
  const SimRequestId request = rig.ask(chat(text, false));
  rig.run();
  return std::string(
      parse(rig.heard[request].body).at("choices").at(0).at("message").at("content").as_string());
}

TEST(SimulatedStreams, EveryTokenIsToldWhenItIsMade) {
  Rig rig(options());
  const SimRequestId request = rig.ask(chat("hello"));
  rig.run();
  const Heard& heard = rig.heard[request];
  std::vector<TimePoint> wanted;
  for (int i = 1; i <= 10; ++i)
    wanted.push_back(kStart + milliseconds(3 + 10 * i));
  wanted.push_back(kStart + milliseconds(103));  // the mark of the end
  EXPECT_EQ(heard.times, wanted);
  EXPECT_EQ(heard.end, Delivery::kLast);
  EXPECT_EQ(rig.first[request].content_type, "text/event-stream");
  EXPECT_TRUE(heard.body.ends_with("data: [DONE]\n\n"));
  EXPECT_EQ(text_of(heard.body), whole_text(options(), "hello"));
  EXPECT_EQ(rig.upstream.stats().answered.at(200), 1);
  EXPECT_EQ(rig.upstream.stats().answer_tokens, 10);
  EXPECT_EQ(rig.upstream.in_flight(), 0);
}

TEST(SimulatedStreams, SeveralTokensCanBeAnEvent) {
  SimOptions some = options();
  some.event_tokens = 4;
  Rig rig(some);
  const SimRequestId request = rig.ask(chat("hello"));
  rig.run();
  EXPECT_EQ(rig.heard[request].times,
            (std::vector<TimePoint>{kStart + milliseconds(43), kStart + milliseconds(83),
                                    kStart + milliseconds(103), kStart + milliseconds(103)}));
  EXPECT_EQ(text_of(rig.heard[request].body), whole_text(options(), "hello"));
}

// Steps or one piece: the slots take as long, and streams keep theirs while others wait.
TEST(SimulatedStreams, TakeAsLongAsWholeAnswers) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::vector<std::map<SimRequestId, TimePoint>> ends;
    for (const bool stream : {false, true}) {
      SimOptions some{.seed = seed, .slots = 4, .knee = 2, .answer_tokens = 20};
      Rig rig(some);
      Random random(seed);
      TimePoint at = kStart;
      for (int i = 0; i < 30; ++i) {
        at += milliseconds(random.below(60));
        rig.run(at);
        rig.ask(chat(fmt::format("{}", random.below(1000)), stream), at);
      }
      rig.run();
      EXPECT_EQ(rig.upstream.stats().busy_max, 4);
      std::map<SimRequestId, TimePoint>& mine = ends.emplace_back();
      for (const auto& [request, heard] : rig.heard)
        mine[request] = heard.times.back();
      ASSERT_EQ(mine.size(), 30U);
    }
    for (const auto& [request, end] : ends[0]) {
      // Each step's end is rounded up to a nanosecond.
      EXPECT_NEAR(static_cast<double>(end.time_since_epoch().count()),
                  static_cast<double>(ends[1].at(request).time_since_epoch().count()), 1e5);
    }
  }
}

TEST(SimulatedStreams, TellTheirUsageWhenAsked) {
  Rig rig(options());
  const SimRequestId request =
      rig.ask(R"({"model":"m","prompt":["a","b"],"max_tokens":4,"stream":true,)"
              R"("stream_options":{"include_usage":true}})",
              kStart, "/v1/completions");
  rig.run();
  const std::string& body = rig.heard[request].body;
  EXPECT_NE(body.find(R"("choices":[],"usage":{"prompt_tokens":2,"completion_tokens":8,)"),
            std::string::npos)
      << body;
  EXPECT_NE(body.find(R"("index":1)"), std::string::npos);
  EXPECT_NE(body.find(R"("finish_reason":"length")"), std::string::npos);
}

TEST(SimulatedStreams, WhatIsNoStreamIsRefused) {
  Rig rig(options());
  for (const std::string_view more : {R"("stream":"yes")", R"("stream":true,"stream_options":[])",
                                      R"("stream_options":{"include_usage":true})"}) {
    const SimRequestId request = rig.ask(fmt::format(R"({{"model":"m","prompt":"a",{}}})", more),
                                         rig.now, "/v1/completions");
    rig.run();
    EXPECT_EQ(rig.first[request].status, 400) << more;
  }
}

TEST(SimulatedStreams, AClientThatLeavesInTheMiddleGivesItsPlaceToOthers) {
  SimOptions some = options();
  some.slots = 1;
  Rig rig(some);
  const SimRequestId gone = rig.ask(chat("hello"));
  const SimRequestId next = rig.ask(chat("world"));
  rig.run(kStart + milliseconds(50));
  EXPECT_EQ(rig.heard[gone].times.size(), 4U);
  rig.upstream.leave(gone, kStart + milliseconds(50));
  rig.run();
  EXPECT_EQ(rig.heard[gone].times.size(), 4U);
  EXPECT_EQ(rig.heard[next].times.front(), kStart + milliseconds(50 + 13));
  EXPECT_TRUE(rig.heard[next].ended);
  EXPECT_EQ(rig.upstream.stats().left, 1);
  EXPECT_EQ(rig.upstream.in_flight(), 0);
}

TEST(SimulatedStreams, FaultsInTheMiddle) {
  const std::string whole = whole_text(options(), "hello");
  const auto hear = [&](std::string_view fault) {
    Rig rig(struck_by(fault));
    const SimRequestId request = rig.ask(chat("hello"));
    rig.run();
    EXPECT_EQ(rig.upstream.in_flight(), 0);
    std::array<int64_t, kFaultKinds> one = {};
    one.at(static_cast<size_t>(parse_fault(fault)->kind)) = 1;
    EXPECT_EQ(rig.upstream.stats().faults, one);
    // Its place is free.
    const SimRequestId second = rig.ask(chat("b", false), rig.now);
    rig.run();
    EXPECT_EQ(rig.first[second].status, 200);
    return rig.heard[request];
  };

  const Heard reset = hear("reset=1");
  EXPECT_EQ(reset.end, Delivery::kBroken);
  EXPECT_TRUE(whole.starts_with(text_of(reset.body)));
  EXPECT_EQ(reset.times.size(), 5U);

  const Heard cut = hear("truncated=1");
  EXPECT_EQ(cut.end, Delivery::kLast);
  EXPECT_FALSE(cut.body.ends_with("\n\n"));

  const Heard error = hear("stream-error=1");
  EXPECT_EQ(error.end, Delivery::kLast);
  EXPECT_NE(error.body.find(R"(data: {"error":{"message":"something went wrong inside")"),
            std::string::npos);
  EXPECT_EQ(error.body.find("[DONE]"), std::string::npos);

  const Heard garbage = hear("stream-garbage=1");
  EXPECT_EQ(garbage.end, Delivery::kLast);
  EXPECT_EQ(text_of(garbage.body), whole);
  EXPECT_NE(garbage.body.find("\"del\n\n"), std::string::npos);

  const Heard endless = hear("no-done=1");
  EXPECT_EQ(endless.end, Delivery::kLast);
  EXPECT_EQ(text_of(endless.body), whole);
  EXPECT_EQ(endless.body.find("[DONE]"), std::string::npos);

  const Heard slow = hear("slow-body=1:40ms");
  EXPECT_EQ(slow.end, Delivery::kSlow);
  EXPECT_EQ(slow.times, std::vector<TimePoint>{kStart + milliseconds(103)});
  EXPECT_EQ(text_of(slow.body), whole);

  const Heard page = hear("content-type=1");
  EXPECT_EQ(page.end, Delivery::kWhole);
  EXPECT_TRUE(page.body.starts_with("<html>"));
}

TEST(SimulatedStreams, AStallStrikesTheSecondHalf) {
  for (const bool for_ever : {false, true}) {
    Rig rig(struck_by(for_ever ? "stall=1" : "stall=1:1s"));
    const SimRequestId request = rig.ask(chat("hello"));
    rig.run();
    const Heard& heard = rig.heard[request];
    EXPECT_EQ(heard.times.at(3), kStart + milliseconds(43));
    EXPECT_EQ(heard.ended, !for_ever);
    if (for_ever) {
      EXPECT_EQ(heard.times.size(), 4U);
      rig.upstream.leave(request, rig.now);
      EXPECT_EQ(rig.upstream.in_flight(), 0);
    } else {
      EXPECT_EQ(heard.times.back(), kStart + milliseconds(1103));
      EXPECT_EQ(text_of(heard.body), whole_text(options(), "hello"));
    }
  }
}

TEST(SimulatedStreams, SwappedStreamsAreEachOthersFromTheirFirstWord) {
  SimOptions some = struck_by("swapped=1");
  some.answer = AnswerKind::kEcho;
  Rig rig(some);
  const SimRequestId a = rig.ask(chat("aaaa"));
  const SimRequestId b = rig.ask(chat("bbbb"));
  rig.run();
  EXPECT_EQ(text_of(rig.heard[a].body), "bbbb");
  EXPECT_EQ(text_of(rig.heard[b].body), "aaaa");
}

// Streams among whole answers, clients that leave, every fault: each client that stays gets one
// end, unless it is stalled for ever, and no slot is lost.
TEST(SimulatedStreams, EveryStreamEndsOnce) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SimOptions some{.seed = seed, .slots = 3, .queue_max = 1000, .answer_tokens = 6};
    for (const std::string_view kind :
         {"stall", "reset", "slow-body", "truncated", "content-type", "swapped", "schema",
          "stream-error", "stream-garbage", "no-done"}) {
      some.faults.push_back(*parse_fault(fmt::format("{}=0.05", kind)));
    }
    Rig rig(some);
    Random random(seed);
    std::vector<SimRequestId> all;
    TimePoint at = kStart;
    for (int i = 0; i < 200; ++i) {
      at += milliseconds(random.below(40));
      rig.run(at);
      all.push_back(rig.ask(chat(fmt::format("{}", i), random.chance(0.7)), at));
      if (random.chance(0.2)) rig.upstream.leave(all[random.below(all.size())], at);
    }
    rig.run();
    for (const SimRequestId request : all)
      rig.upstream.leave(request, rig.now);
    EXPECT_EQ(rig.upstream.in_flight(), 0);
    int64_t answered = 0;
    for (const auto& [status, count] : rig.upstream.stats().answered)
      answered += count;
    EXPECT_EQ(answered + rig.upstream.stats().left, 200);
  }
}

}  // namespace
}  // namespace windrow::sim_upstream
