// Streams of other dialects against whole replies: however an answer is cut into deltas, what the
// events say joined is the reply.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/calls/call_flow.h"
#include "api/testing/events.h"
#include "api/wire/call_reply.h"
#include "api/wire/responses_reply.h"
#include "api/wire/translation.h"
#include "base/random.h"
#include "json/limits.h"
#include "llm/answer_json.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using testing::events_in;

ReplyFacts facts(Dialect dialect, bool logprobs = false) {
  return {.dialect = dialect,
          .id = "7",
          .model = "m",
          .request_id = "req_1",
          .logprobs = logprobs,
          .echo = dialect == Dialect::kResponses ? responses_echo({}, {}, false) : ""};
}

json::value whole(Dialect dialect, const llm::Answer& answer, bool logprobs = false) {
  return json::parse(reply_body(facts(dialect, logprobs), answer));
}

std::vector<json::value> parsed(const std::string& events) {
  std::vector<json::value> all;
  for (const std::string& event : events_in(events))
    all.push_back(json::parse(event));
  return all;
}

void append(json::value& text, const json::value& more) {
  text = std::string(text.as_string()) + std::string(more.as_string());
}

// A reader of the Messages API: it believes the events and nothing else.
json::value read_message(const std::string& events) {
  json::value message;
  bool stopped = false;
  json::array closed;
  std::vector<std::string> inputs;
  for (const json::value& event : parsed(events)) {
    const std::string type(event.at("type").as_string());
    EXPECT_FALSE(stopped) << type << " after message_stop";
    if (type == "message_start") {
      message = event.at("message");
      continue;
    }
    if (type == "message_stop") stopped = true;
    if (type == "message_delta") {
      for (const auto& [name, value] : event.at("delta").as_object())
        message.as_object()[name] = value;
      message.as_object()["usage"] = event.at("usage");
    }
    if (!type.starts_with("content_block")) continue;
    json::array& content = message.at("content").as_array();
    const auto index = static_cast<size_t>(event.at("index").as_int64());
    if (type == "content_block_start") {
      EXPECT_EQ(index, content.size());
      EXPECT_EQ(closed.size(), index) << "one is open still";
      content.push_back(event.at("content_block"));
      inputs.emplace_back();
    } else if (type == "content_block_stop") {
      closed.emplace_back(index);
      if (content.at(index).at("type") == "tool_use" && !inputs.at(index).empty())
        content.at(index).as_object()["input"] = json::parse(inputs.at(index));
    } else {
      const json::object& delta = event.at("delta").as_object();
      EXPECT_EQ(closed.size(), index) << "a delta of a block that is closed";
      if (delta.contains("text")) append(content.at(index).at("text"), delta.at("text"));
      if (delta.contains("thinking"))
        append(content.at(index).at("thinking"), delta.at("thinking"));
      if (delta.contains("partial_json")) inputs.at(index) += delta.at("partial_json").as_string();
    }
  }
  EXPECT_TRUE(stopped);
  return message;
}

// A reader of the Responses API that joins deltas, and holds them to what the events at the end of
// each part, of each item and of the response say.
json::value read_response(const std::string& events) {
  json::array items;
  std::vector<std::string> texts;
  int64_t sequence = 0;
  json::value last;
  for (const json::value& event : parsed(events)) {
    EXPECT_EQ(event.at("sequence_number"), sequence++);
    const std::string type(event.at("type").as_string());
    last = event;
    if (type == "response.output_item.added") {
      EXPECT_EQ(event.at("output_index"), items.size());
      items.push_back(event.at("item"));
      texts.emplace_back();
    }
    if (type.ends_with(".delta")) {
      const auto index = static_cast<size_t>(event.at("output_index").as_int64());
      EXPECT_EQ(event.at("item_id"), items.at(index).at("id"));
      texts.at(index) += event.at("delta").as_string();
    }
    if (type.ends_with("_text.done") || type.ends_with("refusal.done") ||
        type.ends_with("arguments.done")) {
      for (const char* member : {"text", "refusal", "arguments"}) {
        const json::value* said = event.as_object().if_contains(member);
        if (said == nullptr) continue;
        EXPECT_EQ(std::string(said->as_string()), texts.back());
      }
    }
    if (type == "response.output_item.done")
      items.at(static_cast<size_t>(event.at("output_index").as_int64())) = event.at("item");
  }
  EXPECT_EQ(last.at("response").at("output"), json::value(items));
  return last.at("response");
}

std::vector<std::string> ids_of_output(const json::value& response) {
  std::vector<std::string> ids;
  for (const json::value& item : response.at("output").as_array())
    ids.emplace_back(item.at("id").as_string());
  return ids;
}

llm::ScoredToken scored(std::string bytes) {
  return {.chosen = {.bytes = std::move(bytes), .logprob = -1}};
}

// An answer, and one way to say it in deltas.
struct Told {
  llm::Answer answer;
  std::vector<llm::Delta> deltas;
};

std::string words(Random& random, int64_t max) {
  constexpr std::string_view kLetters = "ab\"\\\n e";
  std::string text;
  for (int64_t left = random.between(0, max); left > 0; --left)
    text += random.chance(0.1) ? "\u20ac" : std::string(1, kLetters[random.below(7)]);
  return text;
}

// In parts of whole characters.
std::vector<std::string> cut(Random& random, const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.size(), at + 1 + random.below(6));
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
      ++end;
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

Told random_answer(Random& random) {
  Told told;
  llm::Choice choice{.text = random.chance(0.8) ? words(random, 20) : ""};
  if (random.chance(0.5)) choice.reasoning = words(random, 20);
  if (random.chance(0.1)) choice.refusal = "no";
  for (uint64_t left = random.chance(0.5) ? random.below(4) : 0; left > 0; --left) {
    choice.tool_calls.push_back(
        {.id = fmt::format("call_{}", left),
         .name = "f",
         .arguments = json::serialize(json::object{{"a", words(random, 10)}, {"b", left}})});
  }
  constexpr llm::FinishReason kReasons[] = {llm::FinishReason::kStop, llm::FinishReason::kLength};
  choice.finish_reason = kReasons[random.below(2)];
  if (!choice.tool_calls.empty() && choice.finish_reason == llm::FinishReason::kStop)
    choice.finish_reason = llm::FinishReason::kToolCalls;
  if (choice.finish_reason == llm::FinishReason::kStop && random.chance(0.2))
    choice.stopped_by = "END";
  if (random.chance(0.2)) choice.structure = llm::StructureLabel::kValid;

  for (const std::string& part : cut(random, choice.reasoning.value_or("")))
    told.deltas.push_back({.reasoning = part});
  for (const std::string& part : cut(random, choice.text)) {
    told.deltas.push_back({.text = part, .tokens = {scored(part)}});
    choice.tokens.push_back(scored(part));
  }
  if (choice.refusal) told.deltas.push_back({.refusal = *choice.refusal});
  for (size_t i = 0; i < choice.tool_calls.size(); ++i) {
    const llm::ToolCall& call = choice.tool_calls[i];
    const auto index = static_cast<int32_t>(i);
    told.deltas.push_back({.tool_calls = {{.index = index, .id = call.id, .name = call.name}}});
    for (const std::string& part : cut(random, call.arguments))
      told.deltas.push_back({.tool_calls = {{.index = index, .arguments = part}}});
  }
  // Some of it is never said before the end, some of it at once.
  if (random.chance(0.3)) told.deltas.resize(random.below(told.deltas.size() + 1));
  for (size_t i = 0; i + 1 < told.deltas.size(); ++i) {
    llm::Delta& one = told.deltas[i];
    const llm::Delta& next = told.deltas[i + 1];
    if (!random.chance(0.2) || !one.tool_calls.empty() || !next.text.empty()) continue;
    if (!one.refusal.empty() || !next.refusal.empty() || !next.reasoning.empty()) continue;
    one.tool_calls = next.tool_calls;
    told.deltas.erase(told.deltas.begin() + static_cast<ptrdiff_t>(i) + 1);
  }
  told.answer = {.choices = {std::move(choice)},
                 .usage = {.prompt_tokens = 9, .completion_tokens = 4, .cached_tokens = 2}};
  return told;
}

TEST(DialectStreams, JoinedTheyAreTheWholeReply) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Told told = random_answer(random);
    const bool logprobs = random.chance(0.5) && told.answer.choices[0].tool_calls.empty();
    for (const Dialect dialect : {Dialect::kResponses, Dialect::kMessages}) {
      json::value kept;
      std::vector<std::string> kept_ids;
      const auto keep = [&](std::string_view body, std::vector<std::string> ids) {
        kept = json::parse(body);
        kept_ids = std::move(ids);
      };
      const auto stream = stream_in_dialect(facts(dialect, logprobs), keep);
      std::string events;
      for (const llm::Delta& delta : told.deltas)
        stream->emit(delta, events);
      stream->end(told.answer, events);
      const json::value read =
          dialect == Dialect::kMessages ? read_message(events) : read_response(events);
      ASSERT_EQ(read, whole(dialect, told.answer, logprobs));
      if (dialect == Dialect::kMessages) continue;
      ASSERT_EQ(kept, read);
      ASSERT_EQ(kept_ids, ids_of_output(read));
      ASSERT_EQ(kept_ids, output_ids(facts(dialect), told.answer));
    }
  }
}

// Calls and texts in any order, as they come from a model that talks between its calls, to clients
// that are slow now and then: the order stays as it was made.
TEST(DialectStreams, WhatASlowClientHasNotTakenKeepsItsOrder) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    llm::Choice choice{.finish_reason = llm::FinishReason::kToolCalls};
    std::vector<llm::Delta> deltas;
    std::string expected;
    for (uint64_t left = 1 + random.below(5); left > 0; --left) {
      if (random.chance(0.5)) {
        const std::string text = "t" + words(random, 20);
        expected += expected.ends_with("text") ? "" : " text";
        choice.text += text;
        for (const std::string& part : cut(random, text))
          deltas.push_back({.text = part});
        continue;
      }
      const auto index = static_cast<int32_t>(choice.tool_calls.size());
      const std::string arguments = json::serialize(json::object{{"a", words(random, 10)}});
      choice.tool_calls.push_back({.id = "c", .name = "f", .arguments = arguments});
      expected += " call";
      deltas.push_back({.tool_calls = {{.index = index, .id = "c", .name = "f"}}});
      for (const std::string& part : cut(random, arguments))
        deltas.push_back({.tool_calls = {{.index = index, .arguments = part}}});
    }
    const llm::Answer answer{.choices = {choice}};
    for (const Dialect dialect : {Dialect::kResponses, Dialect::kMessages}) {
      CallFlow flow(TimePoint{});
      flow.set_stream(stream_in_dialect(facts(dialect)));
      std::string events;
      for (const llm::Delta& delta : deltas) {
        events += flow.emit({delta}, random.chance(0.7), TimePoint{}).bytes;
        if (random.chance(0.2)) events += flow.drained(TimePoint{}).bytes;
      }
      events += flow.end(llm::Outcome(answer)).bytes;
      std::string seen;
      std::string text;
      std::vector<json::value> inputs;
      const bool messages = dialect == Dialect::kMessages;
      const json::value read = messages ? read_message(events) : read_response(events);
      for (const json::value& block : read.at(messages ? "content" : "output").as_array()) {
        const bool call = block.at("type") == "tool_use" || block.at("type") == "function_call";
        seen += call ? " call" : " text";
        if (call) {
          inputs.push_back(messages ? block.at("input")
                                    : json::parse(block.at("arguments").as_string()));
        } else {
          text += (messages ? block.at("text") : block.at("content").at(0).at("text")).as_string();
        }
      }
      EXPECT_EQ(seen, expected);
      EXPECT_EQ(text, choice.text);
      ASSERT_EQ(inputs.size(), choice.tool_calls.size());
      for (size_t i = 0; i < inputs.size(); ++i)
        EXPECT_EQ(inputs[i], json::parse(choice.tool_calls[i].arguments));
    }
  }
}

TEST(DialectStreams, ACallThatBrokeOffIsNoneThatWasMade) {
  const llm::Answer answer{
      .choices = {{.tool_calls = {{.id = "c", .name = "f", .arguments = R"({"a":)"}},
                   .finish_reason = llm::FinishReason::kStop}}};
  const auto messages = stream_in_dialect(facts(Dialect::kMessages));
  std::string events;
  messages->end(answer, events);
  EXPECT_NE(events.find(R"("stop_reason":"end_turn")"), std::string::npos) << events;
  EXPECT_EQ(whole(Dialect::kResponses, answer).at("output").at(0).at("status"), "incomplete");
}

// A server elsewhere says the same in its own words.
TEST(DialectStreams, EventsFromElsewhereAreReadIntoTheSame) {
  const std::vector<std::string> raw = {
      R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})",
      R"({"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]})",
      R"({"choices":[{"index":0,"delta":{"content":"so"}}]})",
      R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function",
          "function":{"name":"f","arguments":""}}]}}]})",
      R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,
          "function":{"arguments":"{\"a\":1}"}}]}}]})",
      R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})",
      R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}})"};
  const llm::Answer same{
      .choices = {{.text = "so",
                   .reasoning = "hm",
                   .tool_calls = {{.id = "c", .name = "f", .arguments = R"({"a":1})"}},
                   .finish_reason = llm::FinishReason::kToolCalls}},
      .usage = {.prompt_tokens = 9, .completion_tokens = 4}};
  for (const Dialect dialect : {Dialect::kResponses, Dialect::kMessages}) {
    const auto stream = stream_in_dialect(facts(dialect));
    std::string events;
    for (const std::string& event : raw) {
      llm::Delta delta;
      delta.raw = event;
      stream->emit(delta, events);
    }
    stream->end({.usage = same.usage}, events);
    EXPECT_EQ(dialect == Dialect::kMessages ? read_message(events) : read_response(events),
              whole(dialect, same));
  }
}

TEST(DialectStreams, CallsThatAreMixedFailTheStream) {
  for (const Dialect dialect : {Dialect::kResponses, Dialect::kMessages}) {
    const auto stream = stream_in_dialect(facts(dialect));
    std::string events;
    stream->emit({.tool_calls = {{.index = 0, .id = "a", .name = "f"}}}, events);
    stream->emit({.tool_calls = {{.index = 1, .id = "b", .name = "f"}}}, events);
    stream->emit({.tool_calls = {{.index = 0, .arguments = "{}"}}}, events);
    stream->end({}, events);
    const std::string last(parsed(events).back().at("type").as_string());
    EXPECT_EQ(last, dialect == Dialect::kMessages ? "error" : "response.failed");
  }
}

TEST(DialectStreams, AFailureSaysWhy) {
  const llm::Failure failure{.failure_class = llm::FailureClass::kBackend,
                             .status = 500,
                             .code = "engine_error",
                             .message = "why"};
  std::string events;
  const auto response = stream_in_dialect(facts(Dialect::kResponses));
  response->emit({.text = "a"}, events);
  response->fail(failure, events);
  const json::value failed = parsed(events).back().at("response");
  EXPECT_EQ(failed.at("status"), "failed");
  EXPECT_EQ(failed.at("error"), json::parse(R"({"code":"server_error","message":"why"})"));
  EXPECT_EQ(failed.at("output").at(0).at("content").at(0).at("text"), "a");

  events.clear();
  const auto message = stream_in_dialect(facts(Dialect::kMessages));
  message->keep_alive(events);
  message->fail(failure, events);
  EXPECT_TRUE(events.starts_with("event: ping\ndata: {\"type\":\"ping\"}\n\n"));
  EXPECT_EQ(parsed(events).back(),
            json::parse(R"({"type":"error","error":{"type":"api_error","message":"why"},
                            "request_id":"req_1"})"));
}

TEST(DialectReplies, WhatWasCutIsIncomplete) {
  const llm::Answer cut{
      .choices = {{.tool_calls = {{.id = "c", .name = "f", .arguments = "{\"a\":"}},
                   .finish_reason = llm::FinishReason::kLength}}};
  const json::value response = whole(Dialect::kResponses, cut);
  EXPECT_EQ(response.at("status"), "incomplete");
  EXPECT_EQ(response.at("incomplete_details"), json::parse(R"({"reason":"max_output_tokens"})"));
  EXPECT_EQ(response.at("output").at(0).at("status"), "incomplete");
  EXPECT_EQ(response.at("output").at(0).at("arguments"), "{\"a\":");

  const json::value message = whole(Dialect::kMessages, cut);
  EXPECT_EQ(message.at("stop_reason"), "max_tokens");
  EXPECT_EQ(message.at("content").at(0).at("input"),
            json::parse(R"({"unparsed_arguments":"{\"a\":"})"));
}

// Where arguments stand as an object, a line of a log around them can be read again.
TEST(DialectReplies, ArgumentsThatAreTooDeepStayAText) {
  const auto input = [](size_t depth) {
    const std::string arguments =
        R"({"a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
    const std::string reply =
        reply_body(facts(Dialect::kMessages),
                   {.choices = {{.tool_calls = {{.id = "c", .name = "f", .arguments = arguments}},
                                 .finish_reason = llm::FinishReason::kToolCalls}}});
    const json::value message = json::parse(reply, {}, {.max_depth = kWrittenJsonDepthMax});
    return message.at("content").at(0).at("input").as_object();
  };
  EXPECT_TRUE(input(kJsonDepthMax).contains("a"));
  EXPECT_TRUE(input(kJsonDepthMax + 1).contains("unparsed_arguments"));
}

TEST(DialectReplies, AMessageSaysWhyItEnded) {
  const auto stop = [](llm::Choice choice) {
    const json::value message = whole(Dialect::kMessages, {.choices = {std::move(choice)}});
    return fmt::format("{} {}", std::string_view(message.at("stop_reason").as_string()),
                       json::serialize(message.at("stop_sequence")));
  };
  using llm::FinishReason;
  EXPECT_EQ(stop({}), "end_turn null");
  EXPECT_EQ(stop({.stopped_by = "X"}), "stop_sequence \"X\"");
  EXPECT_EQ(stop({.finish_reason = FinishReason::kLength}), "max_tokens null");
  EXPECT_EQ(stop({.finish_reason = FinishReason::kToolCalls}), "tool_use null");
  EXPECT_EQ(stop({.finish_reason = FinishReason::kFiltered}), "refusal null");
  EXPECT_EQ(stop({.refusal = "no"}), "refusal null");
}

TEST(DialectReplies, AnAnswerThatSaysNothingIsOneAllTheSame) {
  const llm::Answer nothing{.choices = {{.text = ""}}};
  EXPECT_EQ(whole(Dialect::kResponses, nothing).at("output").at(0).at("content").at(0).at("text"),
            "");
  EXPECT_EQ(whole(Dialect::kMessages, nothing).at("content"), json::array());
}

TEST(DialectReplies, AnAnswerFromElsewhereIsReadOrRefused) {
  const llm::Outcome read = to_canonical(
      llm::Endpoint::kChatCompletions, {},
      llm::Answer{.raw = R"({"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]})"});
  EXPECT_EQ(std::get<llm::Answer>(read).choices.at(0).text, "a");
  EXPECT_EQ(std::get<llm::Failure>(
                to_canonical(llm::Endpoint::kChatCompletions, {}, llm::Answer{.raw = "{}"}))
                .code,
            "invalid_reply");
}

}  // namespace
}  // namespace windrow::api
