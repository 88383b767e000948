#include "session/history/message_key.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

bool same(std::string_view a, std::string_view b, MatchRule rule) {
  return key_of(json::parse(a).as_object(), rule) == key_of(json::parse(b).as_object(), rule);
}

// An assistant's message with one call; `arguments` is a value as JSON, empty for a call without.
std::string call_with(std::string_view arguments) {
  const std::string member = arguments.empty() ? "" : fmt::format(R"(,"arguments":{})", arguments);
  return fmt::format(R"({{"role":"assistant","content":"","tool_calls":[)"
                     R"({{"id":"call-A","type":"function","function":{{"name":"lookup"{}}}}}]}})",
                     member);
}

bool same_arguments(std::string_view a, std::string_view b, MatchRule rule) {
  return same(call_with(a), call_with(b), rule);
}

TEST(MessageKey, RulesHaveNames) {
  for (const MatchRule rule :
       {MatchRule::kStrict, MatchRule::kLooseToolCalls, MatchRule::kRoleAndContent})
    EXPECT_EQ(match_rule_of(to_string(rule)), rule);
  EXPECT_EQ(to_string(MatchRule::kLooseToolCalls), "loose_tool_call");
  EXPECT_FALSE(match_rule_of("loose"));
}

TEST(MessageKey, AbsentNullAndEmptyAreOne) {
  const std::vector<std::string> empty = {"", "null", R"("")", "[]"};
  for (const MatchRule rule :
       {MatchRule::kStrict, MatchRule::kLooseToolCalls, MatchRule::kRoleAndContent})
    for (const std::string_view name : {"role", "content", "reasoning_content", "tool_calls"})
      for (const std::string& value : empty) {
        const std::string whole =
            value.empty() ? R"({"x":1})" : fmt::format(R"({{"{}":{},"x":1}})", name, value);
        EXPECT_TRUE(same("{}", whole, rule)) << whole;
      }
  for (const std::string_view value : {"0", "false", "{}", "[[]]", R"(" ")"})
    EXPECT_FALSE(same("{}", fmt::format(R"({{"content":{}}})", value), MatchRule::kStrict))
        << value;
}

TEST(MessageKey, StrictComparesFourMembersAndNothingElse) {
  const std::string_view message =
      R"({"role":"assistant","content":"a","reasoning_content":"r","tool_calls":[1]})";
  EXPECT_TRUE(same(message,
                   R"({"tool_calls":[1],"name":"n","reasoning_content":"r","content":"a",
                       "tool_call_id":"t","role":"assistant"})",
                   MatchRule::kStrict));
  for (const std::string_view other :
       {R"({"role":"user","content":"a","reasoning_content":"r","tool_calls":[1]})",
        R"({"role":"assistant","content":"a\n","reasoning_content":"r","tool_calls":[1]})",
        R"({"role":"assistant","content":"A","reasoning_content":"r","tool_calls":[1]})",
        R"({"role":"assistant","content":"a","reasoning_content":"","tool_calls":[1]})",
        R"({"role":"assistant","content":"a","reasoning_content":"r","tool_calls":[2]})",
        R"({"role":"assistant","content":"a","reasoning_content":"r"})",
        R"({"role":"assistant","content":"r","reasoning_content":"a","tool_calls":[1]})"})
    EXPECT_FALSE(same(message, other, MatchRule::kStrict)) << other;
}

TEST(MessageKey, PartsOfContentAreComparedAsJson) {
  EXPECT_TRUE(same(R"({"content":[{"type":"text","text":"a"}]})",
                   R"({"content":[{"text":"a","type":"text"}]})", MatchRule::kStrict));
  EXPECT_FALSE(same(R"({"content":[{"type":"text","text":"a"}]})", R"({"content":"a"})",
                    MatchRule::kRoleAndContent));
  EXPECT_FALSE(
      same(R"({"content":["a","b"]})", R"({"content":["b","a"]})", MatchRule::kRoleAndContent));
}

TEST(MessageKey, TheIndexOfACallDoesNotCount) {
  const auto calls = [](std::string_view call) {
    return fmt::format(R"({{"role":"assistant","tool_calls":[{}]}})", call);
  };
  for (const MatchRule rule : {MatchRule::kStrict, MatchRule::kLooseToolCalls}) {
    EXPECT_TRUE(same(calls(R"({"index":0,"id":"a"})"), calls(R"({"id":"a","index":91})"), rule));
    EXPECT_TRUE(same(calls(R"({"index":0,"id":"a"})"), calls(R"({"id":"a"})"), rule));
    EXPECT_FALSE(same(calls(R"({"id":"a"})"), calls(R"({"id":"a","type":"function"})"), rule));
    EXPECT_FALSE(same(calls(R"({"id":"a"})"), calls(R"({"id":"b"})"), rule));
    EXPECT_FALSE(same(calls(R"({"id":"a"},{"id":"b"})"), calls(R"({"id":"b"},{"id":"a"})"), rule));
    EXPECT_FALSE(same(calls(R"({"id":"a"},{"id":"b"})"), calls(R"({"id":"a"})"), rule));
    EXPECT_FALSE(same(calls(R"({"f":{"index":0}})"), calls(R"({"f":{}})"), rule));
  }
}

TEST(MessageKey, LooseTakesArgumentsThatAreTheSameObject) {
  const std::vector<std::pair<std::string_view, std::string_view>> pairs = {
      {"null", R"("")"},
      {R"("")", "{}"},
      {"{}", R"("{}")"},
      {R"("{}")", R"("{ }")"},
      {R"("{\"outer\":{\"b\":2,\"a\":[1,{\"text\":\"\\u00e9\"}]},\"number\":1e0}")",
       R"({"number":1.0,"outer":{"a":[1.0,{"text":"é"}],"b":2}})"},
      {R"("{\"city\":\"Paris\",\"units\":\"metric\"}")",
       R"("{\"units\": \"metric\", \"city\": \"Paris\"}")"},
      {R"("{\"value\":1e999}")", R"("{\"value\":10e998}")"}};
  for (const auto& [a, b] : pairs) {
    EXPECT_FALSE(same_arguments(a, b, MatchRule::kStrict)) << a << " " << b;
    EXPECT_TRUE(same_arguments(a, b, MatchRule::kLooseToolCalls)) << a << " " << b;
  }
}

TEST(MessageKey, LooseTellsOtherArgumentsApart) {
  const std::vector<std::pair<std::string_view, std::string_view>> pairs = {
      {R"("{\"value\":true}")", R"("{\"value\":1}")"},
      {R"("{\"value\":null}")", R"("{\"value\":\"null\"}")"},
      {R"("{\"value\":[1,2]}")", R"("{\"value\":[2,1]}")"},
      {R"("{\"value\":{\"x\":1}}")", R"("{\"value\":[[\"x\",1]]}")"},
      {R"("{\"value\":1}")", R"("{\"value\":2}")"},
      {R"(" ")", R"("{}")"},
      {R"("{invalid}")", R"("{ invalid }")"},
      {R"("{\"x\":1,\"x\":2}")", R"("{\"x\":1, \"x\":2}")"},
      {R"("{\"x\":NaN}")", R"("{\"x\": NaN}")"},
      {R"("{\"x\":Infinity}")", R"("{\"x\": Infinity}")"},
      {R"("{\"x\":-Infinity}")", R"("{\"x\": -Infinity}")"},
      {R"("[]")", R"("[ ]")"},
      {R"("1")", R"("1.0")"},
      {"[]", "{}"},
      {R"("[]")", "[]"},
      {"", "null"},
      {"", R"("")"},
      {"", "{}"},
      {"", R"("{}")"}};
  for (const auto& [a, b] : pairs) {
    EXPECT_FALSE(same_arguments(a, b, MatchRule::kStrict)) << a << " " << b;
    EXPECT_FALSE(same_arguments(a, b, MatchRule::kLooseToolCalls)) << a << " " << b;
    EXPECT_TRUE(same_arguments(a, b, MatchRule::kRoleAndContent)) << a << " " << b;
    EXPECT_TRUE(same_arguments(a, a, MatchRule::kLooseToolCalls)) << a;
  }
}

TEST(MessageKey, LooseStillComparesEverythingElseOfACall) {
  const auto message = [](std::string_view call) {
    return fmt::format(R"({{"role":"assistant","tool_calls":[{}]}})", call);
  };
  const std::string stored = message(
      R"({"id":"A","type":"function","p":1,"function":{"name":"n","p":1,"arguments":"{}"}})");
  EXPECT_TRUE(same(
      stored,
      message(R"({"id":"A","type":"function","p":1,"function":{"arguments":{},"name":"n","p":1}})"),
      MatchRule::kLooseToolCalls));
  for (const std::string_view other :
       {R"({"id":"B","type":"function","p":1,"function":{"name":"n","p":1,"arguments":{}}})",
        R"({"id":"A","type":"other","p":1,"function":{"name":"n","p":1,"arguments":{}}})",
        R"({"id":"A","type":"function","p":2,"function":{"name":"n","p":1,"arguments":{}}})",
        R"({"id":"A","type":"function","function":{"name":"n","p":1,"arguments":{}}})",
        R"({"id":"A","type":"function","p":1,"function":{"name":"m","p":1,"arguments":{}}})",
        R"({"id":"A","type":"function","p":1,"function":{"name":"n","p":2,"arguments":{}}})",
        R"({"id":"A","type":"function","p":1,"function":{"name":"n","arguments":{}}})",
        R"({"id":"A","type":"function","p":1,"function":"n"})"})
    EXPECT_FALSE(same(stored, message(other), MatchRule::kLooseToolCalls)) << other;
  EXPECT_FALSE(same(R"({"reasoning_content":"kept","tool_calls":[{"id":"A"}]})",
                    R"({"tool_calls":[{"id":"A"}]})", MatchRule::kLooseToolCalls));
}

TEST(MessageKey, RoleAndContentIgnoresAllElse) {
  EXPECT_TRUE(same(R"({"role":"assistant","content":"","reasoning_content":"r",
                       "tool_calls":[{"id":"A"}],"name":"n"})",
                   R"({"role":"assistant","content":null,"tool_calls":"malformed","tools":[1]})",
                   MatchRule::kRoleAndContent));
  EXPECT_FALSE(same(R"({"role":"user","content":"a"})", R"({"role":"user","content":" a"})",
                    MatchRule::kRoleAndContent));
}

std::string one_of(Random& random, const std::vector<std::string>& texts) {
  return texts[random.below(texts.size())];
}

// Few texts for each part, so that many pairs of messages are equal under one rule or another.
std::string random_message(Random& random) {
  const std::vector<std::string> texts = {"null", R"("")", "[]", R"("a")", R"("b")", R"(["a"])"};
  const std::vector<std::string> arguments = {"",
                                              R"(,"arguments":null)",
                                              R"(,"arguments":"")",
                                              R"(,"arguments":{})",
                                              R"(,"arguments":"{}")",
                                              R"(,"arguments":"{ }")",
                                              R"(,"arguments":{"x":1,"y":true})",
                                              R"(,"arguments":"{\"y\":true,\"x\":1.0}")",
                                              R"(,"arguments":"{\"x\":1,\"y\":1}")",
                                              R"(,"arguments":"{\"x\":1,\"x\":1}")"};
  std::string message =
      fmt::format(R"({{"role":{},"content":{})", one_of(random, texts), one_of(random, texts));
  if (random.chance(0.3)) message += R"(,"reasoning_content":)" + one_of(random, texts);
  if (random.chance(0.2)) message += R"(,"name":)" + one_of(random, texts);
  if (random.chance(0.7)) {
    message +=
        R"(,"tool_calls":[{"id":"A","function":{"name":"f")" + one_of(random, arguments) + "}";
    if (random.chance(0.3)) message += fmt::format(R"(,"index":{})", random.below(3));
    message += "}]";
  }
  return message + "}";
}

TEST(MessageKey, EachRuleAcceptsAllThatTheOneBeforeItAccepts) {
  const uint64_t seed = 20261127;
  SCOPED_TRACE(seed);
  Random random(seed);
  size_t accepted[3] = {};
  std::vector<std::string> messages;
  std::vector<std::vector<MessageKey>> keys;
  for (size_t i = 0; i < 600; ++i) {
    messages.push_back(random_message(random));
    const json::object message = json::parse(messages.back()).as_object();
    keys.push_back({key_of(message, MatchRule::kStrict),
                    key_of(message, MatchRule::kLooseToolCalls),
                    key_of(message, MatchRule::kRoleAndContent)});
  }
  for (size_t i = 0; i < messages.size(); ++i)
    for (size_t j = i + 1; j < messages.size(); ++j)
      for (size_t rule = 0; rule < 3; ++rule) {
        const bool equal = keys[i][rule] == keys[j][rule];
        accepted[rule] += equal ? 1 : 0;
        if (rule > 0 && keys[i][rule - 1] == keys[j][rule - 1]) {
          ASSERT_TRUE(equal) << messages[i] << " " << messages[j];
        }
      }
  EXPECT_GT(accepted[0], 100U);
  EXPECT_GT(accepted[1], accepted[0]);
  EXPECT_GT(accepted[2], accepted[1]);
}

}  // namespace
}  // namespace windrow::session
