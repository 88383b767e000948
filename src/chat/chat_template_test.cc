#include "chat/chat_template.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::chat {
namespace {

namespace json = boost::json;

constexpr int64_t kNow = 1'700'000'000;  // 14 November 2023

struct Asked {
  json::array messages = {{{"role", "user"}, {"content", "hi"}}};
  json::array tools = {};
  json::object arguments = {};
};

Result<jinja::Rendered> render(std::string_view source, const Asked& asked) {
  Result<ChatTemplate> made = ChatTemplate::make(source, {.begin = "<s>", .end = "</s>"});
  if (!made) return made.error();
  return made->render(
      {.messages = asked.messages, .tools = asked.tools, .arguments = asked.arguments}, kNow);
}

std::string text(std::string_view source, const Asked& asked = {}) {
  const Result<jinja::Rendered> rendered = render(source, asked);
  return rendered ? rendered->text() : rendered.error().message;
}

TEST(ChatTemplate, ChatMlIsBuiltIn) {
  EXPECT_EQ(text("chatml"), "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(ChatTemplate, ATemplateSeesTheNamesItExpects) {
  EXPECT_EQ(
      text("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ tools is none }}"
           "{{ documents is none }}{{ add_generation_prompt }}{{ strftime_now('%Y-%m-%d') }}"),
      "<s>hi</s>TrueTrueTrue2023-11-14");
}

TEST(ChatTemplate, TheCallersArgumentsWin) {
  Asked asked;
  asked.arguments = {{"enable_thinking", false}, {"add_generation_prompt", false}};
  EXPECT_EQ(text("{{ enable_thinking }} {{ add_generation_prompt }}", asked), "False False");
}

TEST(ChatTemplate, WhatAUserWroteIsInput) {
  Asked asked;
  asked.messages = {{{"role", "user"}, {"content", "<|im_end|>"}}};
  const std::vector<jinja::Segment> expected = {
      {.text = "<|im_start|>user\n", .from_input = false},
      {.text = "<|im_end|>", .from_input = true},
      {.text = "<|im_end|>\n<|im_start|>assistant\n", .from_input = false}};
  EXPECT_EQ(render("chatml", asked)->segments, expected);
}

TEST(ChatTemplate, ASpecialTokenFromTheCallerIsInput) {
  Asked asked;
  asked.arguments = {{"bos_token", "<|im_end|>"}};
  EXPECT_TRUE(render("{{ bos_token }}", asked)->segments.at(0).from_input);
  EXPECT_FALSE(render("{{ bos_token }}", {})->segments.at(0).from_input);
}

TEST(ChatTemplate, TheDeveloperIsTheSystemWhereATemplateDoesNotKnowOne) {
  Asked asked;
  asked.messages = {{{"role", "developer"}, {"content", "x"}}};
  EXPECT_EQ(text("{{ messages[0].role }}", asked), "system");
  EXPECT_EQ(text("{% if messages[0].role == 'developer' %}D{% endif %}", asked), "D");
}

TEST(ChatTemplate, WhatATemplateHasNoPlaceForIsRefused) {
  Asked tools;
  tools.tools = {json::parse(R"({"type": "function", "function": {"name": "f"}})")};
  EXPECT_EQ(render("chatml", tools).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(text("chatml", tools),
            "the model's chat template has no place for tools, so they would be left out without a "
            "word; describe them in a message, or use a model trained for them");
  EXPECT_EQ(text("{{ tools[0].function.name }}", tools), "f");

  Asked calls;
  calls.messages.emplace_back(json::parse(
      R"({"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f"}}]})"));
  EXPECT_EQ(render("chatml", calls).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(text("{{ messages[1].tool_calls[0].function.name }}", calls), "f");

  Asked argument;
  argument.arguments = {{"enable_thinking", true}};
  EXPECT_EQ(text("chatml", argument),
            "the model's chat template does not know enable_thinking; take it out, or use a model "
            "that has it");
}

TEST(ChatTemplate, ARefusalByTheTemplateIsInItsOwnWords) {
  const Result<jinja::Rendered> refused = render("{{ raise_exception('no system role') }}", {});
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(refused.error().message, "no system role");
}

TEST(ChatTemplate, ATemplateThatCannotBeParsedIsAnError) {
  EXPECT_EQ(ChatTemplate::make("{% if %}", {}).error().kind, ErrorKind::kInvalid);
}

TEST(ChatTemplate, SaysHowItThinksAndWhetherTheDateMatters) {
  const ChatTemplate dated =
      ChatTemplate::make("{{ strftime_now('%d') }}{{ '</think>' }}", {}).value();
  EXPECT_TRUE(dated.asks_for_date());
  EXPECT_EQ(dated.reasoning().kind, ReasoningFormat::Kind::kTags);
  EXPECT_FALSE(ChatTemplate::make("chatml", {})->asks_for_date());
}

}  // namespace
}  // namespace windrow::chat
