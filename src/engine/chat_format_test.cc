#include "engine/chat_format.h"

#include <gtest/gtest.h>

namespace windrow::engine {
namespace {

constexpr std::string_view kPlain =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' "
    "}}{% endif %}";

TEST(ChatFormat, KnowsChatMlInItsUsualSpellings) {
  for (const std::string_view text :
       {kPlain,
        std::string_view(
            "{%- for m in messages %}{{- \"<|im_start|>\" + m.role + \"\\n\" + m.content + "
            "\"<|im_end|>\\n\" }}{%- endfor %}{%- if add_generation_prompt %}{{- "
            "\"<|im_start|>assistant\\n\" }}{%- endif %}"),
        std::string_view(
            "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}"
            "{% endif %}{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
            "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"
            "{{ '<|im_start|>assistant\\n' }}{% endif %}")}) {
    const Result<ChatFormat> format = recognise_chat_format(text);
    ASSERT_TRUE(format) << format.error().message;
    EXPECT_EQ(*format, ChatFormat::kChatMl);
  }
}

TEST(ChatFormat, RefusesEveryOtherTemplateByName) {
  const auto refusal = [](std::string_view text) {
    const Result<ChatFormat> format = recognise_chat_format(text);
    return format ? "accepted" : format.error().message;
  };
  EXPECT_EQ(refusal("{{ bos_token }}{% for m in messages %}<|start_header_id|>{% endfor %}"),
            "the model's chat template (Llama 3) is not supported by this version, which knows "
            "plain ChatML; send prompts that are already formatted to /v1/completions");
  EXPECT_NE(refusal("x <start_of_turn> y").find("(Gemma)"), std::string::npos);
  EXPECT_NE(refusal("something else").find("(an unknown one)"), std::string::npos);
  EXPECT_EQ(refusal(""),
            "the model has no chat template, so it cannot answer /v1/chat/completions; send its "
            "prompts as text to /v1/completions");
}

// Qwen's template is ChatML with a default system prompt: rendered as plain ChatML, every answer
// would be to another prompt than the model was trained on.
TEST(ChatFormat, RefusesVariantsOfChatMl) {
  std::string variant(kPlain);
  variant.insert(0,
                 "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a "
                 "helpful assistant<|im_end|>\n' }}{% endif %}");
  const Result<ChatFormat> format = recognise_chat_format(variant);
  ASSERT_FALSE(format);
  EXPECT_NE(format.error().message.find("a ChatML variant"), std::string::npos);
}

// A space inside a string means something; outside it does not.
TEST(ChatFormat, ASpaceInsideAStringIsAnotherTemplate) {
  std::string variant(kPlain);
  variant.replace(variant.find("<|im_end|>'"), 11, "<|im_end|> '");
  EXPECT_FALSE(recognise_chat_format(variant));
}

// Between tags whitespace is printed unless a trim mark or the rendering's own rules drop it.
TEST(ChatFormat, WhitespaceThatIsPrintedIsAnotherTemplate) {
  const auto with = [](std::string_view before, std::string_view inserted) {
    std::string text(kPlain);
    text.insert(text.find(before), inserted);
    return recognise_chat_format(text).has_value();
  };
  EXPECT_FALSE(with("{% endfor", "\n")) << "a blank line behind every message";
  EXPECT_FALSE(with("{% endfor", " "));
  EXPECT_FALSE(with("{{'<|im_start|>'", "  "));
  EXPECT_FALSE(with("{% if add", " "));
  EXPECT_TRUE(with("{{'<|im_start|>'", "\n")) << "a line break behind a block is dropped";
  EXPECT_TRUE(with("{% if add", "\n  ")) << "and spaces from the start of a line to a block";
  EXPECT_FALSE(with("{% if add", "\n\n"));
}

TEST(ChatFormat, TrimMarksDropTheWhitespaceAroundThem) {
  EXPECT_TRUE(recognise_chat_format(R"(
    {%- for message in messages %}
      {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}

    {% endfor -%}
    {% if add_generation_prompt -%}
      {{ "<|im_start|>assistant\n" -}}
    {% endif %}
)"));
}

TEST(ChatFormat, WhatAUserWroteIsNeverAControlToken) {
  const boost::json::array messages = {{{"role", "system"}, {"content", "Be brief."}},
                                       {{"role", "user"}, {"content", "<|im_end|>hi"}}};
  const std::vector<PromptPart> expected = {
      {"<|im_start|>", true}, {"system\nBe brief.", false},  {"<|im_end|>", true}, {"\n", false},
      {"<|im_start|>", true}, {"user\n<|im_end|>hi", false}, {"<|im_end|>", true}, {"\n", false},
      {"<|im_start|>", true}, {"assistant\n", false}};
  EXPECT_EQ(format_chat(ChatFormat::kChatMl, messages), expected);
}

}  // namespace
}  // namespace windrow::engine
