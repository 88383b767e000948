#include "api/wire/stream_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>

#include "api/testing/events.h"
#include "base/random.h"
#include "json/limits.h"
#include "llm/answer_json.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using llm::Delta;
using llm::Endpoint;
using llm::FinishReason;
using testing::events_in;

StreamShape shape(Endpoint endpoint, bool usage = false) {
  return {
      .endpoint = endpoint, .id = "7", .model = "m", .created_unix_s = 1700000000, .usage = usage};
}

json::value chat_chunk(std::string_view choices, std::string_view rest = "") {
  return json::parse(R"({"id":"chatcmpl-7","object":"chat.completion.chunk","created":1700000000,
      "model":"m","choices":)" +
                     std::string(choices) + std::string(rest) + "}");
}

json::value text_chunk(std::string_view choices, std::string_view rest = "") {
  return json::parse(R"({"id":"cmpl-7","object":"text_completion","created":1700000000,
      "model":"m","choices":)" +
                     std::string(choices) + std::string(rest) + "}");
}

TEST(StreamText, ChatHasTheChunksOfTheApi) {
  StreamText stream(shape(Endpoint::kChatCompletions));
  std::string text;
  stream.emit({.reasoning = "hm"}, text);
  stream.emit({.text = "a \"b\"\n"}, text);
  stream.emit({.text = "c", .finish_reason = FinishReason::kLength}, text);
  stream.end({.choices = {{.text = "a \"b\"\nc",
                           .reasoning = "hm",
                           .finish_reason = FinishReason::kLength}}},
             text);
  const std::vector<std::string> events = events_in(text);
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(json::parse(events[0]), chat_chunk(R"([{"index":0,"delta":{"role":"assistant",
      "content":"","refusal":null},"logprobs":null,"finish_reason":null}])"));
  EXPECT_EQ(json::parse(events[1]), chat_chunk(R"([{"index":0,"delta":{"reasoning_content":"hm"},
      "logprobs":null,"finish_reason":null}])"));
  EXPECT_EQ(json::parse(events[2]), chat_chunk(R"([{"index":0,"delta":{"content":"a \"b\"\n"},
      "logprobs":null,"finish_reason":null}])"));
  EXPECT_EQ(json::parse(events[3]), chat_chunk(R"([{"index":0,"delta":{"content":"c"},
      "logprobs":null,"finish_reason":null}])"));
  EXPECT_EQ(json::parse(events[4]), chat_chunk(R"([{"index":0,"delta":{},"logprobs":null,
      "finish_reason":"length"}])"));
  EXPECT_EQ(events[5], "[DONE]");
}

TEST(StreamText, ACallIsNamedAndThenItsArgumentsCome) {
  StreamText stream(shape(Endpoint::kChatCompletions));
  std::string text;
  stream.emit({.text = "I look.",
               .tool_calls = {{.index = 0, .id = "call_1", .name = "f", .arguments = "{\"a"}}},
              text);
  stream.emit({.tool_calls = {{.index = 0, .id = {}, .name = {}, .arguments = "\": 1}"},
                              {.index = 1, .id = "call_2", .name = "g", .arguments = "{}"}},
               .finish_reason = FinishReason::kToolCalls},
              text);
  stream.end({.choices = {{.text = "I look.",
                           .tool_calls = {{.id = "call_1", .name = "f", .arguments = R"({"a": 1})"},
                                          {.id = "call_2", .name = "g", .arguments = "{}"}},
                           .finish_reason = FinishReason::kToolCalls}}},
             text);
  const std::vector<std::string> events = events_in(text);
  ASSERT_EQ(events.size(), 9U) << text;
  const auto delta = [&](size_t event) {
    return json::parse(events[event]).at("choices").at(0).at("delta");
  };
  EXPECT_EQ(delta(1), json::parse(R"({"content":"I look."})"));
  EXPECT_EQ(delta(2), json::parse(R"({"tool_calls":[{"index":0,"id":"call_1","type":"function",
      "function":{"name":"f","arguments":""}}]})"));
  EXPECT_EQ(delta(3),
            json::parse(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}]})"));
  EXPECT_EQ(delta(4),
            json::parse(R"({"tool_calls":[{"index":0,"function":{"arguments":"\": 1}"}}]})"));
  EXPECT_EQ(delta(5).at("tool_calls").at(0).at("id"), "call_2");
  EXPECT_EQ(delta(6), json::parse(R"({"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]})"));
  EXPECT_EQ(json::parse(events[7]).at("choices").at(0).at("finish_reason"), "tool_calls");
}

TEST(StreamText, CompletionsHaveTheirs) {
  StreamText stream(shape(Endpoint::kCompletions));
  std::string text;
  stream.emit({.text = "a"}, text);
  stream.emit({.finish_reason = FinishReason::kStop}, text);
  stream.end({.choices = {{.text = "a"}}}, text);
  const std::vector<std::string> events = events_in(text);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(json::parse(events[0]),
            text_chunk(R"([{"index":0,"text":"a","logprobs":null,"finish_reason":null}])"));
  EXPECT_EQ(json::parse(events[1]),
            text_chunk(R"([{"index":0,"text":"","logprobs":null,"finish_reason":"stop"}])"));
  EXPECT_EQ(events[2], "[DONE]");
}

TEST(StreamText, ACharacterThatWasCutIsNamedAtTheEnd) {
  for (const bool structured : {false, true}) {
    StreamShape given = shape(Endpoint::kChatCompletions);
    given.structured = structured;
    StreamText stream(given);
    std::string text;
    stream.emit(
        {.text = "a\xEF\xBF\xBD", .finish_reason = FinishReason::kLength, .cut_character = true},
        text);
    stream.end({.choices = {{.text = "a\xEF\xBF\xBD",
                             .finish_reason = FinishReason::kLength,
                             .cut_character = true}}},
               text);
    const std::vector<std::string> events = events_in(text);
    ASSERT_EQ(events.size(), 4U);
    EXPECT_FALSE(json::parse(events[1]).at("choices").at(0).as_object().contains("cut_character"));
    EXPECT_EQ(json::parse(events[2]).at("choices").at(0).at("cut_character"), true);
  }
}

TEST(StreamText, UsageIsTheLastChunkAndNullBefore) {
  StreamText stream(shape(Endpoint::kChatCompletions, true));
  std::string text;
  stream.emit({.text = "a", .finish_reason = FinishReason::kStop}, text);
  stream.end({.choices = {{.text = "a"}},
              .usage = {.prompt_tokens = 3,
                        .completion_tokens = 2,
                        .cached_tokens = 1,
                        .reasoning_tokens = 1}},
             text);
  const std::vector<std::string> events = events_in(text);
  ASSERT_EQ(events.size(), 5U);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(json::parse(events[i]).at("usage").is_null()) << events[i];
  EXPECT_EQ(json::parse(events[3]),
            chat_chunk("[]", R"(,"usage":{"prompt_tokens":3,"completion_tokens":2,
      "total_tokens":5,"prompt_tokens_details":{"cached_tokens":1},
      "completion_tokens_details":{"reasoning_tokens":1}})"));
  EXPECT_EQ(events[4], "[DONE]");
}

TEST(StreamText, TierAndFingerprintAreInEveryChunk) {
  StreamShape tiered = shape(Endpoint::kChatCompletions);
  tiered.service_tier = "flex";
  tiered.system_fingerprint = "fp_1";
  StreamText stream(tiered);
  std::string text;
  stream.end({.choices = {{.text = "a"}}}, text);
  std::vector<std::string> events = events_in(text);
  events.pop_back();
  ASSERT_EQ(events.size(), 3U);
  for (const std::string& event : events) {
    EXPECT_EQ(json::parse(event).at("service_tier"), "flex");
    EXPECT_EQ(json::parse(event).at("system_fingerprint"), "fp_1");
  }
}

TEST(StreamText, AFormIsLabelledWithTheFinish) {
  StreamShape structured = shape(Endpoint::kChatCompletions);
  structured.structured = true;
  StreamText stream(structured);
  std::string text;
  stream.emit({.text = "{", .finish_reason = FinishReason::kLength}, text);
  EXPECT_EQ(events_in(text).size(), 2U);
  stream.end({.choices = {{.text = "{",
                           .finish_reason = FinishReason::kLength,
                           .structure = llm::StructureLabel::kTruncated}}},
             text);
  const std::vector<std::string> events = events_in(text);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(json::parse(events[2]).at("choices"),
            json::parse(R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"length",
                             "structure":"truncated"}])"));
}

TEST(StreamText, WarningsOfASchemaStandInTheChunkThatFinishes) {
  StreamShape structured = shape(Endpoint::kChatCompletions);
  structured.structured = true;
  StreamText stream(structured);
  std::string text;
  stream.emit({.text = "{}", .finish_reason = FinishReason::kStop}, text);
  stream.end({.choices = {{.text = "{}", .structure = llm::StructureLabel::kValid}},
              .structure_warnings = {"at #/unit: \"x\""}},
             text);
  const std::vector<std::string> events = events_in(text);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_FALSE(json::parse(events[1]).as_object().contains("structure_warnings"));
  EXPECT_EQ(json::parse(events[2]).at("structure_warnings"), json::array{"at #/unit: \"x\""});
  EXPECT_EQ(json::parse(events[2]).at("choices").as_array().size(), 1U);
}

TEST(StreamText, ToolCallsOfAWholeAnswerHaveTheirPlaces) {
  StreamText stream(shape(Endpoint::kChatCompletions));
  std::string text;
  stream.end({.raw = R"({"id":"x","object":"chat.completion","choices":[
      {"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
       "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},
                     {"id":"b","type":"function","function":{"name":"g","arguments":"[]"}}]}},
      {"index":1,"finish_reason":"tool_calls","message":{"role":"assistant",
       "tool_calls":[{"index":7,"id":"c"}]}},
      {"index":2,"finish_reason":"stop","message":{"role":"assistant","tool_calls":null}},
      {"index":3,"finish_reason":"stop"}]})"},
             text);
  const json::array choices = json::parse(events_in(text).at(0)).at("choices").as_array();
  EXPECT_EQ(choices.at(0).at("delta"), json::parse(R"({"role":"assistant","content":null,
      "tool_calls":[
        {"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},
        {"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"[]"}}]})"));
  EXPECT_EQ(choices.at(1).at("delta").at("tool_calls").at(0).at("index"), 7);
  EXPECT_EQ(choices.at(2).at("delta"), json::parse(R"({"role":"assistant","tool_calls":null})"));
  EXPECT_EQ(choices.at(3).at("delta"), json::object());
}

TEST(StreamText, AWholeAnswerMayBeAsDeepAsAReply) {
  StreamText stream(shape(Endpoint::kChatCompletions));
  const std::string deep =
      std::string(kJsonDepthMax - 1, '[') + std::string(kJsonDepthMax - 1, ']');
  std::string text;
  stream.end(
      {.raw = R"({"choices":[{"index":0,"message":{"content":"a"}}],"vendor":)" + deep + "}"},
      text);
  ASSERT_FALSE(events_in(text).empty());
  EXPECT_NE(events_in(text).at(0).find(R"("content":"a")"), std::string::npos);
  EXPECT_NE(events_in(text).at(0).find(deep), std::string::npos);
}

TEST(StreamText, AWholeAnswerThatCannotBeReadIsAnError) {
  const std::string deep = std::string(kJsonDepthMax, '[') + std::string(kJsonDepthMax, ']');
  for (const std::string& raw :
       {R"({"choices":[{"index":0,"message":{"content":"a"}}],"vendor":)" + deep + "}",
        std::string("[]"), std::string("{")}) {
    StreamText stream(shape(Endpoint::kChatCompletions));
    std::string text;
    stream.end({.raw = raw}, text);
    const std::vector<std::string> events = events_in(text);
    ASSERT_EQ(events.size(), 1U) << raw;
    EXPECT_EQ(json::parse(events[0]).at("error").at("code"), "invalid_reply") << raw;
  }
}

TEST(StreamText, AnErrorIsAnEvent) {
  std::string text;
  StreamText({}).fail({.failure_class = llm::FailureClass::kBackend,
                       .status = 500,
                       .code = "engine_error",
                       .message = "why"},
                      text);
  StreamText({}).keep_alive(text);
  const std::vector<std::string> events = events_in(text);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(json::parse(events[0]), json::parse(R"({"error":{"message":"why",
      "type":"server_error","param":null,"code":"engine_error"}})"));
}

// --- servers elsewhere ---

TEST(StreamText, EventsOfAServerElsewherePassAsTheyCame) {
  StreamText stream(shape(Endpoint::kChatCompletions));
  std::string text;
  stream.emit({.raw = R"({"id":"x","choices":[{"delta":{"content":"a"}}],"vendor":1.50})"}, text);
  stream.emit({.raw = R"({"id":"x","choices":[ ],"usage":{"prompt_tokens":1}})"}, text);
  stream.end({.raw = R"({"whole":1})"}, text);
  EXPECT_EQ(text,
            "data: {\"id\":\"x\",\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"vendor\":1.50}\n\n"
            "data: [DONE]\n\n");
}

TEST(StreamText, TheirUsageIsPassedWhenItIsWanted) {
  StreamText stream(shape(Endpoint::kChatCompletions, true));
  std::string text;
  stream.emit({.raw = R"({"choices":[],"usage":{"prompt_tokens":1}})"}, text);
  stream.end({.usage = {.prompt_tokens = 9}}, text);
  const std::vector<std::string> events = events_in(text);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(json::parse(events[0]).at("usage"), json::parse(R"({"prompt_tokens":1})"));
}

TEST(StreamText, TheirWholeAnswerBecomesChunks) {
  StreamText stream(shape(Endpoint::kChatCompletions, true));
  std::string text;
  stream.end({.raw = R"({"id":"x","object":"chat.completion","choices":[{"index":0,
      "message":{"role":"assistant","content":"a","tool_calls":[]},"finish_reason":"stop"}],
      "usage":{"prompt_tokens":1}})"},
             text);
  const std::vector<std::string> events = events_in(text);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(json::parse(events[0]), json::parse(R"({"id":"x","object":"chat.completion.chunk",
      "choices":[{"index":0,"delta":{"role":"assistant","content":"a","tool_calls":[]},
      "finish_reason":"stop"}]})"));
  EXPECT_EQ(json::parse(events[1]), json::parse(R"({"id":"x","object":"chat.completion.chunk",
      "choices":[],"usage":{"prompt_tokens":1}})"));
  EXPECT_EQ(events[2], "[DONE]");
}

// --- a stream read back is the answer ---

void append_array(json::value& whole, const json::value& part) {
  for (const json::value& one : part.as_array())
    whole.as_array().push_back(one);
}

void add_call(json::value& calls, const json::object& delta) {
  if (calls.is_null()) calls = json::array();
  const auto index = static_cast<size_t>(delta.at("index").as_int64());
  json::array& all = calls.as_array();
  if (index == all.size()) {
    all.push_back(
        {{"id", delta.at("id")}, {"type", delta.at("type")}, {"function", delta.at("function")}});
    return;
  }
  all.at(index).at("function").at("arguments").as_string() +=
      delta.at("function").at("arguments").as_string();
}

// Joins chunks as clients do.
json::array read_back(Endpoint endpoint, const std::vector<std::string>& events, size_t choices) {
  const bool chat = endpoint == Endpoint::kChatCompletions;
  json::array whole(choices);
  for (size_t i = 0; i < choices; ++i) {
    whole[i] = json::object{{"index", i}, {"logprobs", nullptr}};
    if (chat) whole[i].as_object()["message"] = json::object{{"content", ""}, {"refusal", nullptr}};
    if (!chat) whole[i].as_object()["text"] = "";
  }
  for (const std::string& event : events) {
    if (event == "[DONE]") break;
    const json::value chunk = json::parse(event);
    for (const json::value& part : chunk.at("choices").as_array()) {
      json::object& choice = whole.at(part.at("index").to_number<size_t>()).as_object();
      EXPECT_FALSE(choice.contains("finish_reason")) << "said after its end: " << event;
      if (chat) {
        json::object& message = choice["message"].as_object();
        for (const auto& [name, value] : part.at("delta").as_object()) {
          json::value& member = message[name];
          if (name == "tool_calls") {
            for (const json::value& call : value.as_array())
              add_call(member, call.as_object());
            continue;
          }
          if (member.is_string() && name != "role") {
            member.as_string() += value.as_string();
          } else {
            member = value;
          }
        }
      } else {
        choice["text"].as_string() += part.at("text").as_string();
      }
      if (!part.at("logprobs").is_null()) {
        json::value& logprobs = choice["logprobs"];
        if (logprobs.is_null()) {
          logprobs = part.at("logprobs");
        } else {
          for (const auto& [name, value] : part.at("logprobs").as_object()) {
            if (value.is_array()) append_array(logprobs.as_object()[name], value);
          }
        }
      }
      if (!part.at("finish_reason").is_null()) choice["finish_reason"] = part.at("finish_reason");
      for (const char* name : {"structure", "stop_reason"}) {
        if (part.as_object().contains(name)) choice[name] = part.at(name);
      }
      for (const char* name : {"token_ids", "prompt_token_ids"}) {
        const json::value* ids = part.as_object().if_contains(name);
        if (ids == nullptr) continue;
        json::value& all = choice[name];
        EXPECT_TRUE(all.is_null() || std::string_view(name) == "token_ids") << event;
        if (all.is_null()) all = json::array();
        append_array(all, *ids);
      }
    }
  }
  for (json::value& choice : whole) {
    json::value* message = choice.as_object().if_contains("message");
    if (message != nullptr && message->as_object().contains("tool_calls") &&
        message->at("content") == "")
      message->as_object()["content"] = nullptr;
  }
  return whole;
}

struct Made {
  llm::Answer answer;
  std::vector<Delta> deltas;  // those that come before its end
};

// An answer, and deltas as an engine may make them: tokens with their text or before it.
Made make(Random& random, bool chat, bool logprobs, bool ids, int32_t choices) {
  const std::vector<std::string> words = {" a", "bc", "é", "\xC3\xA9\xE2\x82\xAC", "\n", "\"", "€"};
  Made made;
  std::vector<std::vector<Delta>> queues(static_cast<size_t>(choices));
  for (int32_t i = 0; i < choices; ++i) {
    llm::Choice choice;
    std::vector<Delta>& queue = queues[static_cast<size_t>(i)];
    choice.text_begin = chat ? 0 : static_cast<int32_t>(random.below(9));
    if (chat && random.chance(0.5)) {
      choice.reasoning = "thought";
      queue.push_back({.choice = i, .reasoning = "tho"});
      queue.push_back({.choice = i, .reasoning = "ught"});
    }
    Delta delta{.choice = i, .text_begin = choice.text_begin};
    for (int64_t n = random.between(0, 8); n > 0; --n) {
      const std::string& word = words[random.below(words.size())];
      llm::ScoredToken token{.chosen = {.token = 1, .bytes = word, .logprob = -0.5F}};
      if (ids) {
        const auto id = static_cast<int32_t>(random.below(100));
        choice.token_ids.push_back(id);
        delta.token_ids.push_back(id);
      }
      if (logprobs) {
        choice.tokens.push_back(token);
        delta.tokens.push_back(token);
      }
      choice.text += word;
      delta.text += word;
      if (random.chance(0.5)) {
        queue.push_back(std::exchange(delta, {.choice = i, .text_begin = choice.text_begin}));
      }
    }
    for (int64_t n = chat ? random.between(-1, 2) : 0; n > 0; --n) {
      llm::ToolCall call{
          .id = "call_" + std::to_string(n), .name = "f", .arguments = R"({"é": 1})"};
      const auto index = static_cast<int32_t>(choice.tool_calls.size());
      delta.tool_calls.push_back(
          {.index = index, .id = call.id, .name = call.name, .arguments = R"({"é")"});
      if (random.chance(0.5)) queue.push_back(std::exchange(delta, {.choice = i}));
      delta.tool_calls.push_back({.index = index, .id = {}, .name = {}, .arguments = ": 1}"});
      choice.tool_calls.push_back(std::move(call));
    }
    choice.finish_reason = random.chance(0.5) ? FinishReason::kStop : FinishReason::kLength;
    if (ids && random.chance(0.5)) choice.stopped_by_token = 7;
    delta.stopped_by_token = choice.stopped_by_token;
    delta.finish_reason = choice.finish_reason;
    queue.push_back(std::move(delta));
    made.answer.choices.push_back(std::move(choice));
  }
  // Interleaved; and now and then the last ones are not said at all.
  for (;;) {
    std::vector<size_t> open;
    for (size_t i = 0; i < queues.size(); ++i) {
      if (!queues[i].empty()) open.push_back(i);
    }
    if (open.empty() || random.chance(0.02)) break;
    std::vector<Delta>& queue = queues[open[random.below(open.size())]];
    made.deltas.push_back(std::move(queue.front()));
    queue.erase(queue.begin());
  }
  return made;
}

TEST(StreamText, ReadBackItIsTheAnswer) {
  constexpr uint64_t kSeed = 20260101;
  for (uint64_t seed = kSeed; seed < kSeed + 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool chat = random.chance(0.5);
    const bool logprobs = random.chance(0.5);
    const auto choices = static_cast<int32_t>(random.between(1, 4));
    const Made made = make(random, chat, logprobs, random.chance(0.5), choices);
    StreamShape made_shape =
        shape(chat ? Endpoint::kChatCompletions : Endpoint::kCompletions, random.chance(0.5));
    made_shape.logprobs = logprobs;
    StreamText stream(made_shape);
    std::string text;
    for (const Delta& delta : made.deltas)
      stream.emit(delta, text);
    stream.end(made.answer, text);
    const std::vector<std::string> events = events_in(text);
    ASSERT_EQ(events.back(), "[DONE]");

    const json::value whole =
        json::parse(llm::answer_to_json(made_shape.endpoint, "7", "m", 1700000000, made.answer));
    json::array expected = whole.at("choices").as_array();
    ASSERT_EQ(read_back(made_shape.endpoint, events, expected.size()), expected) << text;
  }
}

}  // namespace
}  // namespace windrow::api
