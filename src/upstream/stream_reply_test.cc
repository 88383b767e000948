#include "upstream/stream_reply.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"

namespace windrow::upstream {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Asked kChat{
    .server = "http://gpu1:8000", .model = "qwen", .endpoint = llm::Endpoint::kChatCompletions};

constexpr std::string_view kHello = R"({"choices":[{"index":0,"delta":{"content":"hel"}}]})";
constexpr std::string_view kEnd =
    R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"vendor":1.00})";
constexpr std::string_view kUsage =
    R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}})";

std::string sse(std::string_view data) {
  return fmt::format("data: {}\n\n", data);
}

http::ReplyHead head(std::string type = "text/event-stream; charset=utf-8") {
  http::ReplyHead head;
  head.status = 200;
  head.headers.set("Content-Type", std::move(type));
  return head;
}

// A reply that came as told and what was made of it.
struct Heard {
  std::vector<std::string> events;
  llm::Outcome outcome;

  const llm::Failure& failure() const { return std::get<llm::Failure>(outcome); }
  const llm::Answer& answer() const { return std::get<llm::Answer>(outcome); }
};

struct Sent {
  std::string body;
  std::string type = "text/event-stream";
  std::optional<http::ClientFailure> broken = {};
  WantedStructure wanted = {};
  int64_t choices = 1;
};

Heard hear(const Sent& sent, size_t piece_bytes = 1'000'000) {
  StreamReply reply(kChat, sent.wanted, sent.choices);
  Heard heard;
  for (size_t at = 0; at < sent.body.size(); at += piece_bytes) {
    std::optional<llm::Outcome> outcome = reply.add(
        head(sent.type), std::string_view(sent.body).substr(at, piece_bytes), heard.events);
    if (!outcome) continue;
    heard.outcome = *std::move(outcome);
    return heard;
  }
  http::ClientReply end;
  end.head = head(sent.type);
  heard.outcome = sent.broken ? reply.end(*sent.broken, 0, heard.events)
                              : reply.end(std::move(end), 0, heard.events);
  return heard;
}

TEST(StreamReply, EventsArePassedOnAsTheyWereWritten) {
  const Heard heard = hear({.body = sse(kHello) + sse(kEnd) + sse(kUsage) + sse("[DONE]")});
  EXPECT_THAT(heard.events, ElementsAre(kHello, kEnd, kUsage));
  EXPECT_EQ(heard.answer().raw, "");
  EXPECT_THAT(heard.answer().choices, IsEmpty());
  EXPECT_EQ(heard.answer().usage.prompt_tokens, 3);
  EXPECT_EQ(heard.answer().usage.completion_tokens, 2);
  EXPECT_FALSE(heard.answer().truncated);
}

TEST(StreamReply, AnEventOfSeveralLinesBecomesOne) {
  const Heard heard = hear({.body = "data: {\"choices\": [\ndata: {\"index\": 0,\"text\":\"a b\"}"
                                    "\ndata: ]}\n\n" +
                                    sse("[DONE]")});
  EXPECT_THAT(heard.events, ElementsAre(R"({"choices":[{"index":0,"text":"a b"}]})"));
}

TEST(StreamReply, WithoutDoneAStreamIsWholeWhenEveryChoiceSaysWhyItEnded) {
  EXPECT_THAT(hear({.body = sse(kHello) + sse(kEnd)}).answer().usage.prompt_tokens, 0);
  EXPECT_THAT(hear({.body = sse(kHello) + "data: [DONE]"}).events, ElementsAre(kHello));
  const Heard half = hear({.body = sse(kHello)});
  EXPECT_EQ(half.failure().code, "stream_broken");
  EXPECT_EQ(half.failure().message,
            "the stream of http://gpu1:8000 broke off: it ended before the answer did");
  EXPECT_EQ(hear({.body = sse(kHello) + sse(kEnd), .choices = 2}).failure().code, "stream_broken");
}

TEST(StreamReply, BeforeItsFirstEventItMayBeAskedForAgain) {
  using enum llm::FailureClass;
  const Heard empty = hear({.body = ": welcome\n\n"});
  EXPECT_EQ(empty.failure().failure_class, kTransient);
  EXPECT_EQ(empty.failure().code, "stream_broken");
  const Heard only_end = hear({.body = sse("[DONE]")});
  EXPECT_EQ(only_end.failure().failure_class, kTransient);
  const Heard garbage = hear({.body = sse("{\"cho")});
  EXPECT_EQ(garbage.failure().failure_class, kTransient);
  EXPECT_THAT(garbage.failure().message, HasSubstr("an event is no JSON object: \"{\"cho\""));

  const http::ClientFailure reset{
      .kind = http::FailureKind::kReset, .sent = true, .message = "it went away"};
  const Heard broken = hear({.body = ": hi\n", .broken = reset});
  EXPECT_EQ(broken.failure().failure_class, kTransient);
  EXPECT_EQ(broken.failure().code, "connection_reset");

  const Heard busy = hear({.body = sse(R"({"error":{"message":"full","code":429}})")});
  EXPECT_EQ(busy.failure().failure_class, kTransient);
  EXPECT_TRUE(busy.failure().overloaded);
  const Heard wrong =
      hear({.body = sse(R"({"object":"error","message":"no such thing","code":400})")});
  EXPECT_EQ(wrong.failure().failure_class, kRequest);
  EXPECT_THAT(wrong.failure().message, HasSubstr("no such thing"));
  const Heard told = hear({.body = "event: error\ndata: {\"message\":\"tired\"}\n\n"});
  EXPECT_EQ(told.failure().failure_class, kTransient);
  EXPECT_THAT(told.failure().message, HasSubstr("tired"));
}

TEST(StreamReply, AfterItsFirstEventItIsNotAskedForAgain) {
  const std::string begun = sse(kHello);
  const auto expect_final = [](const Heard& heard, std::string_view code) {
    EXPECT_THAT(heard.events, ElementsAre(kHello));
    EXPECT_EQ(heard.failure().failure_class, llm::FailureClass::kRequest);
    EXPECT_EQ(heard.failure().status, 502);
    EXPECT_EQ(heard.failure().code, code);
  };
  for (const auto kind :
       {http::FailureKind::kReset, http::FailureKind::kTimeout, http::FailureKind::kTooLarge}) {
    expect_final(hear({.body = begun, .broken = http::ClientFailure{.kind = kind}}),
                 "stream_broken");
  }
  expect_final(hear({.body = begun + sse("[1]") + sse(kEnd)}), "stream_broken");
  expect_final(hear({.body = begun + "data: {\"choices\":[{\"ind"}), "stream_broken");
  expect_final(hear({.body = begun + sse(R"({"error":{"message":"full","code":503}})")}),
               "stream_broken");
  const Heard told =
      hear({.body = begun + sse(R"({"error":{"message":"dead","code":"engine_dead"}})")});
  expect_final(told, "engine_dead");
  EXPECT_EQ(told.failure().message, "the stream of http://gpu1:8000 broke off: dead");
  EXPECT_EQ(told.failure().raw, R"({"error":{"message":"dead","code":"engine_dead"}})");
  EXPECT_THAT(hear({.body = begun + sse(R"({"error":null,"choices":[]})") + sse(kEnd)}).events,
              ::testing::SizeIs(3));

  const Heard cancelled =
      hear({.body = begun, .broken = http::ClientFailure{.kind = http::FailureKind::kCancelled}});
  EXPECT_EQ(cancelled.failure().failure_class, llm::FailureClass::kCancelled);
}

TEST(StreamReply, AServerThatAnswersAsAWholeIsHeardAsOne) {
  constexpr std::string_view kWhole =
      R"({"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":7}})";
  for (const std::string_view type : {"application/json", "text/plain", ""}) {
    for (const size_t bytes : {size_t{1}, size_t{1000}}) {
      const Heard heard = hear({.body = std::string(kWhole), .type = std::string(type)}, bytes);
      EXPECT_THAT(heard.events, IsEmpty());
      EXPECT_EQ(heard.answer().raw, kWhole);
      EXPECT_EQ(heard.answer().usage.prompt_tokens, 7);
    }
  }
  const Heard page = hear({.body = "<html>sign in</html>", .type = "text/html"});
  EXPECT_EQ(page.failure().code, "unparsable_reply");
  EXPECT_EQ(page.failure().failure_class, llm::FailureClass::kTransient);
}

TEST(StreamReply, EventsUnderAnotherNameAreEvents) {
  for (const std::string_view before : {"", "\xEF\xBB\xBF", ": hi\n\n", "event: x\n", "\r\n"}) {
    for (const size_t bytes : {size_t{1}, size_t{1000}}) {
      const Heard heard = hear(
          {.body = std::string(before) + sse(kHello) + sse("[DONE]"), .type = "text/plain"}, bytes);
      EXPECT_THAT(heard.events, ElementsAre(kHello)) << before;
    }
  }
}

WantedStructure a_number() {
  return {.form = llm::Structure::kJson,
          .field = "response_format",
          .validator = std::make_shared<const schema::Validator>(
              schema::Validator::compile(json::object{{"maximum", 130}}, {}).value())};
}

std::string said(std::string_view text, std::string_view finish_reason) {
  return sse(fmt::format(R"({{"choices":[{{"index":1,"delta":{{"content":"{}"}}}}]}})", text)) +
         sse(fmt::format(R"({{"choices":[{{"index":1,"delta":{{}},"finish_reason":"{}"}}]}})",
                         finish_reason));
}

// What was said cannot be taken back: it is an error at the end.
TEST(StreamReply, ItsFormIsJudgedAtItsEnd) {
  const auto end_of = [](std::string_view a, std::string_view b, std::string_view reason) {
    return hear({.body = sse(fmt::format(R"({{"choices":[{{"index":1,"text":"{}"}}]}})", a)) +
                         said(b, reason) + sse("[DONE]"),
                 .wanted = a_number()});
  };
  EXPECT_FALSE(end_of("1", "29", "stop").answer().truncated);
  const Heard large = end_of("1", "31", "stop");
  EXPECT_EQ(large.failure().code, "invalid_structured_output");
  EXPECT_EQ(large.failure().failure_class, llm::FailureClass::kRequest);
  EXPECT_THAT(large.failure().message, HasSubstr("131, above the maximum of 130"));
  EXPECT_EQ(large.events.size(), 3U);
  EXPECT_TRUE(end_of("[1", ",2", "length").answer().truncated);
  EXPECT_FALSE(end_of("1", "2", "length").answer().truncated) << "it is whole";
  EXPECT_FALSE(end_of("", "", "stop").answer().truncated) << "it has no text";
}

// However its bytes are cut.
TEST(StreamReply, CutsDoNotMatter) {
  const std::string body =
      ": hi\r\n\r\n" + sse(kHello) + "data:" + std::string(kEnd) + "\r\n\r\n" + sse(kUsage);
  for (const std::string_view end :
       {"data: [DONE]\n\n", "data: {\"error\":\"bad\"}\n\n", "data: 1"}) {
    const Heard whole = hear({.body = body + std::string(end)});
    for (size_t bytes = 1; bytes < 40; ++bytes) {
      const Heard cut = hear({.body = body + std::string(end)}, bytes);
      EXPECT_EQ(cut.events, whole.events);
      ASSERT_EQ(cut.outcome.index(), whole.outcome.index());
      if (cut.outcome.index() == 1) {
        EXPECT_EQ(cut.failure(), whole.failure());
      }
    }
  }
}

}  // namespace
}  // namespace windrow::upstream
