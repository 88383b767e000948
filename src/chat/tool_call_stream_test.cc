#include "chat/tool_call_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <vector>

#include "base/random.h"
#include "base/utf8.h"

namespace windrow::chat {
namespace {

ToolTable tools() {
  return ToolTable(boost::json::parse(R"([
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object",
      "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "add_note", "parameters": {"type": "object",
      "properties": {"text": {"type": "string"}, "tags": {"type": "array"}}}}},
    {"type": "function", "function": {"name": "now"}}])")
                       .as_array());
}

std::shared_ptr<const ToolContext> context(ToolSyntax syntax, bool several = true) {
  return std::make_shared<const ToolContext>(
      ToolContext{.syntax = std::move(syntax), .tools = tools(), .several = several});
}

const auto kHermes = context(generic_tool_syntax());
const auto kLlama = context(recognise_tool_syntax("<|start_header_id|> \"parameters\": "));
const auto kMistral = context(recognise_tool_syntax("[TOOL_CALLS]["));
const auto kMistralNamed = context(recognise_tool_syntax("[TOOL_CALLS] [CALL_ID] [ARGS]"));
const auto kDeepSeek = context(recognise_tool_syntax("<｜tool▁calls▁begin｜> ```json"));
const auto kDeepSeekPlain = context(recognise_tool_syntax("<｜tool▁calls▁begin｜>"));
const auto kChannels = context(recognise_tool_syntax("<|channel|> functions."));
const auto kCoder = context(recognise_tool_syntax("<tool_call> <function="));
const auto kGlm = context(recognise_tool_syntax("<tool_call> <arg_key>"));
const auto kMiniMax = context(recognise_tool_syntax("<minimax:tool_call>"));

// The content and the calls: "Yes.|add{}|now{}"; "..." at the end if a call is not whole.
std::string shown(const CallsOfAnswer& answer) {
  std::string text = answer.content;
  for (const WrittenCall& call : answer.calls)
    text += fmt::format("|{}{}", call.name, call.arguments);
  return answer.all_whole ? text : text + "...";
}

std::string read(const std::shared_ptr<const ToolContext>& context, std::string_view answer) {
  return shown(split_calls(context, answer));
}

TEST(ToolCallStream, TextIsText) {
  for (const auto& context : {kHermes, kLlama, kMistral, kCoder, kDeepSeek})
    EXPECT_EQ(read(context, "\n It is <4>, [5] or {6}.\n"), "\n It is <4>, [5] or {6}.\n");
  EXPECT_EQ(read(kHermes, ""), "");
}

// As of an answer that has a form of its own: a mark in its strings is text.
TEST(ToolCallStream, WhereCallsAreAllOfAnAnswerAMarkWithinItIsText) {
  for (const auto& one : {kHermes, kMistral, kCoder}) {
    auto begin_only = *one;
    begin_only.at_begin_only = true;
    const auto context = std::make_shared<const ToolContext>(begin_only);
    const std::vector<WrittenCall> two = {{.name = "now", .arguments = "{}"},
                                          {.name = "add", .arguments = R"({"a": 1})"}};
    const std::string calls = write_calls(one->syntax, two);
    EXPECT_EQ(read(context, calls), R"(|now{}|add{"a": 1})");
    EXPECT_EQ(read(context, "\n " + calls), R"(|now{}|add{"a": 1})");
    for (const std::string& text :
         {"{\"a\":\"" + calls + "\"}", "x" + calls, "<" + calls, "[TOOL " + calls}) {
      EXPECT_EQ(read(context, text), text);
      std::string said;
      ToolCallStream stream(context);
      for (const char byte : text) {
        for (const ToolCallStream::Delta& delta : stream.take({&byte, 1}))
          said += delta.content;
      }
      for (const ToolCallStream::Delta& delta : stream.end())
        said += delta.content;
      EXPECT_EQ(said, text) << "byte by byte";
    }
  }
}

// A call without a mark looks like an answer in the form that was asked for.
TEST(ToolCallStream, BesideAFormACallWithoutAMarkIsANameAndArgumentsAndNothingElse) {
  auto beside_form = *kLlama;
  beside_form.at_begin_only = true;
  const auto context = std::make_shared<const ToolContext>(beside_form);
  EXPECT_EQ(read(context, R"({"name": "add", "parameters": {"a": 1}})"), R"(|add{"a": 1})");
  for (const char* text : {R"({"name": "add", "parameters": {"a": 1}, "unit": "m"})",
                           R"({"name": "add", "parameters": {"a": 1}, "parameters": {"a": 2}})",
                           R"({"unit": "m", "name": "add", "parameters": {"a": 1}})",
                           R"({"parameters": {"a": 1}, "name": "add"})",
                           R"({"name": "add", "id": 7, "parameters": {"a": 1}})",
                           R"({"name": "add", "parameters": ["a"]})",
                           R"({"name": "other", "parameters": {}})", R"({"name": "add"})"}) {
    EXPECT_EQ(read(context, text), text);
    EXPECT_EQ(shown(split_calls(context, text, CallDelivery::kComplete)), text);
  }
}

TEST(ToolCallStream, CallsBetweenTags) {
  EXPECT_EQ(read(kHermes,
                 "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n"
                 "</tool_call>"),
            R"(|add{"a": 1})");
  EXPECT_EQ(read(kHermes,
                 "Let me see.\n\n<tool_call>{\"name\":\"now\",\"arguments\":{}}"
                 "</tool_call>\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\":2}}"
                 "\n</tool_call>\n"),
            R"(Let me see.|now{}|add{"a":2})");
}

TEST(ToolCallStream, ObjectsMaySayTheSameInOtherWays) {
  for (const char* object :
       {R"({"arguments": {"a": 1}, "name": "add"})",
        R"({"id": 7, "name": "add", "arguments": {"a": 1}, "x": [{}]})",
        R"({"name": "add", "parameters": {"a": 1}})",
        R"({"name": "add", "arguments": "{\"a\": 1}"})",
        R"({"type": "function", "function": {"name": "add", "arguments": "{\"a\": 1}"}})",
        R"({"type": "function", "function": "add", "parameters": {"a": 1}})"}) {
    EXPECT_EQ(read(kHermes, fmt::format("<tool_call>{}</tool_call>", object)), R"(|add{"a": 1})")
        << object;
  }
  EXPECT_EQ(read(kHermes, R"(<tool_call>{"name": "now"}</tool_call>)"), "|now{}");
  EXPECT_EQ(read(kHermes, R"(<tool_call>{"name": "now", "arguments": null}</tool_call>)"),
            "|now{}");
}

TEST(ToolCallStream, AnAnswerThatIsOneObject) {
  EXPECT_EQ(read(kLlama, R"({"name": "add", "parameters": {"a": 1}})"), R"(|add{"a": 1})");
  EXPECT_EQ(read(kLlama, "<|python_tag|>{\"name\": \"now\", \"parameters\": {}}"), "|now{}");
  EXPECT_EQ(read(kLlama, R"({"name": "now", "parameters": {}}; {"name": "now", "parameters": {}})"),
            "|now{}|now{}");
  for (const char* text : {R"({"city": "Paris"})", R"({"name": "Paris", "parameters": {}})",
                           R"({"name": "now"})", R"(The call is {"name": "now", "parameters": {}})",
                           R"(<|python_tag|>brave_search.call(query="x"))"}) {
    EXPECT_EQ(read(kLlama, text), text);
  }
}

TEST(ToolCallStream, ListsBehindAMark) {
  EXPECT_EQ(
      read(kMistral, R"([TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}, "id": "abcdefghi"},)"
                     R"( {"name": "now", "arguments": {}}])"),
      R"(|add{"a": 1}|now{})");
  EXPECT_EQ(read(kMistral, R"(Well. [TOOL_CALLS]{"name": "now", "arguments": {}} So.)"),
            "Well.  So.|now{}");
}

TEST(ToolCallStream, ANameAndAnObject) {
  EXPECT_EQ(read(kMistralNamed, R"([TOOL_CALLS]add[ARGS]{"a": 1}[TOOL_CALLS]now[ARGS]{})"),
            R"(|add{"a": 1}|now{})");
  EXPECT_EQ(read(kMistralNamed, R"([TOOL_CALLS]add_note[CALL_ID]abcdefghi[ARGS]{"text": "x"})"),
            R"(|add_note{"text": "x"})");
  EXPECT_EQ(read(kMistralNamed, R"([TOOL_CALLS]add {"a": 1})"), R"(|add{"a": 1})");
  EXPECT_EQ(read(kDeepSeek,
                 "Yes<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n"
                 "```json\n{\"a\": 1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function"
                 "<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
            R"(Yes|add{"a": 1}|now{})");
  EXPECT_EQ(read(kDeepSeekPlain,
                 "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{\"a\": 1}"
                 "<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}"
                 "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
            R"(|add{"a": 1}|now{})");
  EXPECT_EQ(read(kChannels,
                 "I look.\n<|channel|>commentary to=functions.now <|constrain|>json"
                 "<|message|>{}<|call|>"),
            "I look.|now{}");
}

TEST(ToolCallStream, TagsBecomeAnObject) {
  EXPECT_EQ(read(kCoder,
                 "I note.\n\n<tool_call>\n<function=add_note>\n<parameter=text>\n5\nand <b>\n"
                 "</parameter>\n<parameter=tags>\n[\"x\"]\n</parameter>\n</function>\n"
                 "</tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>"),
            R"(I note.|add_note{"text": "5\nand <b>", "tags": ["x"]}|now{})");
  EXPECT_EQ(read(kGlm,
                 "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>5</arg_value>\n"
                 "<arg_key>b</arg_key>\n<arg_value>6</arg_value>\n</tool_call>"),
            R"(|add{"a": 5, "b": 6})");
  EXPECT_EQ(read(kMiniMax,
                 "<minimax:tool_call>\n<invoke name=\"add\">\n<parameter name=\"a\">5"
                 "</parameter>\n</invoke>\n<invoke name=\"now\">\n</invoke>\n"
                 "</minimax:tool_call>"),
            R"(|add{"a": 5}|now{})");
}

TEST(ToolCallStream, WhatIsNoCallStaysAsItWasWritten) {
  for (const char* text :
       {"<tool_call>", "<tool_call> is a mark",
        "<tool_call>\n{\"name\": \"gone\", \"arguments\": {}}\n</tool_call>",
        "<tool_call>{\"name\": \"add\", \"arguments\": [1]}</tool_call>",
        "<tool_call>{\"name\": \"add\", \"arguments\": \"no\"}</tool_call>",
        "<tool_call>{\"name\": 'add'}</tool_call>", "a\n<tool_call>\n{\"arguments\": {\"a\": 1}",
        "<tool_call>{}</tool_call>\n"}) {
    EXPECT_EQ(read(kHermes, text), text);
  }
  for (const char* text : {"[TOOL_CALLS]gone[ARGS]{}", "[TOOL_CALLS]ad", "[TOOL_CALLS]add[ARGS]5"})
    EXPECT_EQ(read(kMistralNamed, text), text);
  for (const char* text :
       {"<tool_call>\n<function=gone>\n</function>\n</tool_call>", "<tool_call>\n<functio"})
    EXPECT_EQ(read(kCoder, text), text);
}

TEST(ToolCallStream, ArgumentsThatBreakOffStay) {
  EXPECT_EQ(read(kHermes, R"(<tool_call>{"name": "add", "arguments": {"a": 1, "b)"),
            R"(|add{"a": 1, "b...)");
  EXPECT_EQ(read(kHermes, R"(<tool_call>{"name": "add", "arguments": {"a": 'x'}}</tool_call>)"),
            R"('x'}}</tool_call>|add{"a": ...)");
  EXPECT_EQ(read(kCoder, "<tool_call>\n<function=add>\n<parameter=a>\n5"), "|add{\"a\": ...");
  EXPECT_EQ(read(kCoder, "<tool_call>\n<function=add>\nwell"), "well|add...");
  EXPECT_EQ(read(kHermes, R"(<tool_call>{"name": "add", "arguments": {"a": 1})"), R"(|add{"a": 1})")
      << "they are whole, though the object around them is not";
}

TEST(ToolCallStream, WithCompleteDeliveryTheRestIsAsItWasWritten) {
  const auto whole = [](const auto& context, std::string_view answer, bool cut = false) {
    return shown(split_calls(context, answer, CallDelivery::kComplete, cut));
  };
  for (const char* text : {R"(<tool_call>{"name": "add", "arguments": {"a": 1, "b)",
                           R"(Hm. <tool_call>{"name": "add", "arguments": {"a": 'x'}}</tool_call>)",
                           R"(<tool_call>{"name": "add", "arguments": {"a":}</tool_call> So. )"})
    EXPECT_EQ(whole(kHermes, text), text);
  for (const char* text :
       {"<tool_call>\n<function=add>\n<parameter=a>\n5", "<tool_call>\n<function=add>\nwell",
        "<tool_call>\n<function=add_note>\n<parameter=text>\nsome\n text"})
    EXPECT_EQ(whole(kCoder, text), text);
  EXPECT_EQ(whole(kHermes, R"(<tool_call>{"name": "now"}</tool_call>
<tool_call>{"name": "add", "arguments": {,}}</tool_call>
<tool_call>{"name": "add", "arguments": {"a": 2}}</tool_call>)"),
            R"(<tool_call>{"name": "add", "arguments": {,}}</tool_call>|now{}|add{"a": 2})");
  EXPECT_EQ(whole(kHermes, R"(<tool_call>{"name": "add", "arguments": {"a": 1, "b)", true),
            R"(|add{"a": 1, "b...)")
      << "what was cut has the beginning of a call";
}

TEST(ToolCallStream, MarksThatAreMissingAtTheEndAreNotMissed) {
  EXPECT_EQ(read(kHermes, "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool"), "|now{}");
  EXPECT_EQ(read(kDeepSeek,
                 "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n"
                 "```json\n{}\n```"),
            "|now{}");
  EXPECT_EQ(read(kMistral, R"([TOOL_CALLS][{"name": "now", "arguments": {}})"), "|now{}");
}

TEST(ToolCallStream, BehindTheOnlyCallTheAnswerIsOver) {
  const auto one = context(generic_tool_syntax(), false);
  const std::string_view two =
      R"(A <tool_call>{"name": "now", "arguments": {}}</tool_call> B <tool_call>{"name": "now"})";
  EXPECT_EQ(read(one, two), "A|now{}");
  ToolCallStream stream(one);
  stream.take(two.substr(0, two.find("}}")));
  EXPECT_FALSE(stream.over());
  stream.take("}");
  EXPECT_TRUE(stream.over());
  EXPECT_TRUE(stream.all_whole());
}

TEST(ToolCallStream, ArgumentsAreToldAsTheyCome) {
  ToolCallStream stream(kHermes);
  EXPECT_EQ(stream.take("Hm. <tool_").at(0).content, "Hm.");
  EXPECT_TRUE(stream.take(R"(call>{"name": "add", "argum)").empty());
  const ToolCallStream::Delta begin = stream.take(R"(ents": {"a")").at(0);
  ASSERT_EQ(begin.calls.size(), 1U);
  EXPECT_EQ(begin.calls[0].name, "add");
  EXPECT_EQ(begin.calls[0].arguments, "{\"a\"");
  const ToolCallStream::Delta rest = stream.take(": 5").at(0);
  ASSERT_EQ(rest.calls.size(), 1U);
  EXPECT_EQ(rest.calls[0].name, "");
  EXPECT_EQ(rest.calls[0].arguments, ": 5");
}

// Fragments of what models write, put together by chance.
std::string random_answer(Random& random) {
  constexpr auto kFragments =
      std::to_array<std::string_view>({"<tool_call>",
                                       "\n",
                                       " ",
                                       "{\"name\": \"add\", \"arguments\": {\"a\": 1}}",
                                       "</tool_call>",
                                       "{\"arguments\": {\"x\": [1, \"}\"]}, \"name\": \"now\"}",
                                       "{\"name\": \"add",
                                       "\"}",
                                       "{}",
                                       "{",
                                       "}",
                                       "[TOOL_CALLS]",
                                       "[",
                                       "]",
                                       ",",
                                       ";",
                                       "add",
                                       "_note",
                                       "now",
                                       "[ARGS]",
                                       "[CALL_ID]abc",
                                       "<｜tool▁calls▁begin｜>",
                                       "<｜tool▁call▁begin｜>",
                                       "function<｜tool▁sep｜>",
                                       "<｜tool▁sep｜>",
                                       "\n```json\n",
                                       "\n```<｜tool▁call▁end｜>",
                                       "<｜tool▁call▁end｜>",
                                       "<｜tool▁calls▁end｜>",
                                       "<|channel|>commentary to=functions.",
                                       " <|constrain|>json<|message|>",
                                       "<|call|>",
                                       "<function=",
                                       ">\n",
                                       "<parameter=text>\n",
                                       "<parameter=tags>\n",
                                       "\n</parameter>\n",
                                       "</function>\n",
                                       "<arg_key>",
                                       "</arg_key>\n<arg_value>",
                                       "</arg_value>\n",
                                       "<minimax:tool_call>",
                                       "<invoke name=\"",
                                       "\">\n",
                                       "<parameter name=\"a\">",
                                       "</parameter>\n",
                                       "</invoke>\n",
                                       "</minimax:tool_call>",
                                       "<|python_tag|>",
                                       "word",
                                       "é",
                                       "\"q\"",
                                       "5",
                                       "True"});
  std::string answer;
  for (uint64_t i = random.below(12); i > 0; --i)
    answer += kFragments[random.below(kFragments.size())];
  return answer;
}

// A call as this family writes it, damaged a little by chance.
std::string random_call(const ToolSyntax& syntax, Random& random) {
  const std::vector<WrittenCall> calls = {
      {.name = "add_note", .arguments = R"({"text": "a<\n>b", "tags": ["x", {}]})"},
      {.name = "now", .arguments = "{}"}};
  std::string answer = random.chance(0.5) ? "Say é.\n\n" : "";
  answer += write_calls(syntax, std::span(calls).first(1 + random.below(2)));
  if (random.chance(0.3)) answer += "\nDone. ";
  if (random.chance(0.4)) answer.erase(random.below(answer.size()), 1 + random.below(4));
  return utf8_repair(answer);
}

std::string read_in_pieces(const std::shared_ptr<const ToolContext>& context,
                           std::string_view answer, CallDelivery delivery, Random& random) {
  ToolCallStream stream(context, delivery);
  CallsOfAnswer read;
  const auto collect = [&](const std::vector<ToolCallStream::Delta>& deltas) {
    for (const ToolCallStream::Delta& delta : deltas) {
      EXPECT_FALSE(delta.content.empty() && delta.calls.empty());
      read.content += delta.content;
      for (const ToolCallStream::Call& call : delta.calls) {
        const auto index = static_cast<size_t>(call.index);
        if (index == read.calls.size()) {
          EXPECT_FALSE(call.name.empty());
          read.calls.push_back({.name = call.name, .arguments = {}});
        } else {
          EXPECT_EQ(index + 1, read.calls.size());
          EXPECT_EQ(call.name, "");
        }
        read.calls.back().arguments += call.arguments;
      }
    }
  };
  while (!answer.empty()) {
    size_t size = std::min<size_t>(1 + random.below(9), answer.size());
    while (size < answer.size() && utf8_incomplete_tail(answer.substr(0, size)) > 0)
      ++size;
    collect(stream.take(answer.substr(0, size)));
    if (delivery == CallDelivery::kStreamed) {
      EXPECT_LE(stream.held_bytes(), 4096U);
    }
    answer.remove_prefix(size);
  }
  collect(stream.end());
  read.all_whole = stream.all_whole();
  return shown(read);
}

TEST(ToolCallStream, HowTheAnswerIsCutMakesNoDifference) {
  const uint64_t seed = 90125;
  SCOPED_TRACE(seed);
  Random random(seed);
  int calls = 0;
  int broken = 0;
  for (const auto& family :
       {kHermes, kLlama, kMistral, kMistralNamed, kDeepSeek, kDeepSeekPlain, kChannels, kCoder,
        kGlm, kMiniMax, context(generic_tool_syntax(), false), context(ToolSyntax{})}) {
    for (int i = 0; i < 1500; ++i) {
      const bool call = family->syntax.form != ToolSyntax::Form::kNone && random.chance(0.6);
      const std::string answer = call ? random_call(family->syntax, random) : random_answer(random);
      const CallsOfAnswer whole = split_calls(family, answer);
      calls += static_cast<int>(whole.calls.size());
      ASSERT_EQ(read_in_pieces(family, answer, CallDelivery::kStreamed, random), shown(whole))
          << answer;
      if (whole.calls.empty()) {
        ASSERT_EQ(whole.content, answer);
      }
      for (const WrittenCall& made : whole.calls) {
        if (whole.all_whole) ASSERT_TRUE(boost::json::parse(made.arguments).is_object());
      }
      const CallsOfAnswer later = split_calls(family, answer, CallDelivery::kComplete);
      ASSERT_EQ(read_in_pieces(family, answer, CallDelivery::kComplete, random), shown(later))
          << answer;
      ASSERT_TRUE(later.all_whole) << answer;
      for (const WrittenCall& made : later.calls)
        ASSERT_TRUE(boost::json::parse(made.arguments).is_object()) << answer;
      if (whole.all_whole) {
        ASSERT_EQ(shown(later), shown(whole)) << answer;
      } else if (later.calls.empty()) {
        ASSERT_EQ(later.content, answer);
      }
      broken += whole.all_whole ? 0 : 1;
    }
  }
  EXPECT_GT(calls, 5000);
  EXPECT_GT(broken, 300);
}

}  // namespace
}  // namespace windrow::chat
