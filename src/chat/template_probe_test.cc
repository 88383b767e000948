#include "chat/template_probe.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace windrow::chat {
namespace {

namespace json = boost::json;

TemplateProbe of(std::string_view messages, std::string_view tools = "[]") {
  const json::array parsed = json::parse(messages).as_array();
  const json::array parsed_tools = json::parse(tools).as_array();
  const json::object arguments;
  return TemplateProbe({.messages = parsed, .tools = parsed_tools, .arguments = arguments});
}

// What the probe reports for a text that lacks the word of one part and has all others.
std::string missing(const TemplateProbe& probe, const json::value& without) {
  std::string text = json::serialize(probe.messages());
  const std::string word(without.as_string());
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word))
    text.erase(at, word.size());
  const std::optional<Vanished> vanished = probe.missing_from(text);
  return vanished ? vanished->field : "";
}

TEST(TemplateProbe, EveryContentNameAndCallHasOne) {
  const TemplateProbe probe = of(R"([{"role":"user","content":"a","name":"b"},
      {"role":"assistant","content":"a","tool_calls":[
          {"id":"i","function":{"name":"f","arguments":{"x":1}}}]},
      {"role":"tool","content":"a","name":"f","tool_call_id":"i"}])");
  const json::array& messages = probe.messages();
  EXPECT_EQ(probe.missing_from(json::serialize(messages)), std::nullopt);
  EXPECT_EQ(missing(probe, messages[0].at("content")), "messages[0].content");
  EXPECT_EQ(missing(probe, messages[0].at("name")), "messages[0].name");
  EXPECT_EQ(missing(probe, messages[1].at("content")), "messages[1].content");
  const json::value& function = messages[1].at("tool_calls").at(0).at("function");
  EXPECT_EQ(missing(probe, function.at("name")), "messages[1].tool_calls");
  EXPECT_EQ(missing(probe, function.at("arguments").at("of")), "messages[1].tool_calls");
  EXPECT_EQ(missing(probe, messages[2].at("content")), "messages[2].content");
  EXPECT_EQ(messages[2].at("name"), function.at("name")) << "a template may look for its call";
  EXPECT_EQ(messages[2].at("tool_call_id"), "i");
}

TEST(TemplateProbe, WhatIsEmptyStaysSo) {
  const std::string_view given = R"([{"role":"system","content":""},{"role":"user","content":" \n"},
      {"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[]}])";
  EXPECT_EQ(json::value(of(given).messages()), json::parse(given));
  EXPECT_EQ(of(given).missing_from(""), std::nullopt);
}

TEST(TemplateProbe, TheNameOfAToolIsItsOwn) {
  const TemplateProbe probe = of(R"([{"role":"user","content":""}])",
                                 R"([{"type":"function","function":{"name":"get_it"}},
                                     {"type":"function","function":{"name":"\"odd\""}}])");
  EXPECT_EQ(probe.missing_from("<get_it>"), std::nullopt) << "the other may be written so or so";
  EXPECT_EQ(probe.missing_from("odd"), vanished_tools());
}

}  // namespace
}  // namespace windrow::chat
