#include "chat/tool_syntax.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>

namespace windrow::chat {
namespace {

using Form = ToolSyntax::Form;

ToolSyntax syntax_of(std::string_view name) {
  std::ifstream file(fmt::format("{}/tests/templates/corpus/{}.jinja", WINDROW_SOURCE_DIR, name));
  EXPECT_TRUE(file) << name;
  return recognise_tool_syntax(std::string(std::istreambuf_iterator(file), {}));
}

std::string two_calls(const ToolSyntax& syntax) {
  const std::array<WrittenCall, 2> calls = {
      {{.name = "add", .arguments = R"({"a": 1, "b": "x"})"}, {.name = "now", .arguments = "{}"}}};
  return write_calls(syntax, std::span(calls).first(syntax.several ? 2 : 1));
}

TEST(ToolSyntax, IsFoundInTheTemplatesOfModels) {
  struct Family {
    std::string_view name;
    Form form;
    std::string_view mark;
  };
  for (const Family& family :
       {Family{"qwen2.5-7b", Form::kJson, "<tool_call>"},
        Family{"qwen3-0.6b", Form::kJson, "<tool_call>"},
        Family{"own-hermes-tools", Form::kJson, "<tool_call>"},
        Family{"granite-4.0", Form::kJson, "<tool_call>"},
        Family{"bielik-3", Form::kJson, "<tool_call>"},
        Family{"mistral-nemo", Form::kJson, "[TOOL_CALLS]"},
        Family{"granite-3.3", Form::kJson, "<|tool_call|>"},
        Family{"apriel-1.5", Form::kJson, "<tool_calls>"},
        Family{"own-llama-3.1-tools", Form::kJson, ""},
        Family{"mistral-small-3.2", Form::kNamed, "[TOOL_CALLS]"},
        Family{"devstral-small", Form::kNamed, "[TOOL_CALLS]"},
        Family{"ministral-3-reasoning", Form::kNamed, "[TOOL_CALLS]"},
        Family{"deepseek-r1-llama-cpp", Form::kNamed, "<｜tool▁calls▁begin｜>"},
        Family{"deepseek-r1-distill-qwen", Form::kNamed, "<｜tool▁calls▁begin｜>"},
        Family{"deepseek-v3.1", Form::kNamed, "<｜tool▁calls▁begin｜>"},
        Family{"gpt-oss", Form::kNamed, "<|channel|>commentary to=functions."},
        Family{"functionary-3.1", Form::kNamed, "<function="},
        Family{"qwen3-coder", Form::kTagged, "<tool_call>"},
        Family{"qwen3.5-4b", Form::kTagged, "<tool_call>"},
        Family{"step-3.5-flash", Form::kTagged, "<tool_call>"},
        Family{"glm-4.6", Form::kTagged, "<tool_call>"},
        Family{"seed-oss", Form::kTagged, "<seed:tool_call>"},
        Family{"minimax-m2", Form::kTagged, "<minimax:tool_call>"}}) {
    const ToolSyntax syntax = syntax_of(family.name);
    EXPECT_EQ(syntax.form, family.form) << family.name;
    EXPECT_EQ(syntax.mark, family.mark) << family.name;
    EXPECT_TRUE((syntax.begin + syntax.open).starts_with(syntax.mark)) << family.name;
  }
}

TEST(ToolSyntax, IsNoneWhereATemplateHasNoneOrOneThatIsNotKnown) {
  for (const char* name : {"chatml", "zephyr", "phi-3", "llama-3-instruct", "functionary-3.2",
                           "gemma-4", "gigachat-3.1", "own-command-r"}) {
    EXPECT_EQ(syntax_of(name), ToolSyntax{}) << name;
  }
}

TEST(ToolSyntax, CallsAreWrittenAsModelsWere) {
  EXPECT_EQ(two_calls(syntax_of("qwen3-0.6b")),
            "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": \"x\"}}\n"
            "</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(two_calls(syntax_of("mistral-nemo")),
            "[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": \"x\"}}, "
            "{\"name\": \"now\", \"arguments\": {}}]");
  EXPECT_EQ(two_calls(syntax_of("devstral-small")),
            "[TOOL_CALLS]add[ARGS]{\"a\": 1, \"b\": \"x\"}[TOOL_CALLS]now[ARGS]{}");
  EXPECT_EQ(two_calls(syntax_of("own-llama-3.1-tools")),
            R"({"name": "add", "parameters": {"a": 1, "b": "x"}})");
  EXPECT_EQ(two_calls(syntax_of("deepseek-r1-llama-cpp")),
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n"
            "{\"a\": 1, \"b\": \"x\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function"
            "<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>");
  EXPECT_EQ(two_calls(syntax_of("gpt-oss")),
            "<|channel|>commentary to=functions.add <|constrain|>json<|message|>"
            "{\"a\": 1, \"b\": \"x\"}<|call|>");
  EXPECT_EQ(two_calls(syntax_of("qwen3-coder")),
            "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\nx\n"
            "</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n</function>\n"
            "</tool_call>");
}

TEST(ToolSyntax, MarksAreWhatMayBeControlTokens) {
  EXPECT_EQ(syntax_of("mistral-small-3.2").marks(),
            (std::vector<std::string>{"[TOOL_CALLS]", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"}));
  EXPECT_EQ(syntax_of("own-llama-3.1-tools").marks(), std::vector<std::string>{"<|python_tag|>"});
}

}  // namespace
}  // namespace windrow::chat
