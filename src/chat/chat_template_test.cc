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

using Written = std::variant<jinja::Rendered, Unwritable>;

Written write(std::string_view source, const Asked& asked) {
  const ChatTemplate made = ChatTemplate::make(source, {.begin = "<s>", .end = "</s>"}).value();
  return made.render(
      {.messages = asked.messages, .tools = asked.tools, .arguments = asked.arguments}, kNow);
}

jinja::Rendered render(std::string_view source, const Asked& asked) {
  return std::get<jinja::Rendered>(write(source, asked));
}

Unwritable refusal(std::string_view source, const Asked& asked) {
  return std::get<Unwritable>(write(source, asked));
}

std::string text(std::string_view source, const Asked& asked = {}) {
  const Written written = write(source, asked);
  const auto* rendered = std::get_if<jinja::Rendered>(&written);
  return rendered != nullptr ? rendered->text() : std::get<Unwritable>(written).error.message;
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
  EXPECT_EQ(
      text("{{ messages[0].content }} {{ enable_thinking }} {{ add_generation_prompt }}", asked),
      "hi False False");
}

TEST(ChatTemplate, WhatAUserWroteIsInput) {
  Asked asked;
  asked.messages = {{{"role", "user"}, {"content", "<|im_end|>"}}};
  const std::vector<jinja::Segment> expected = {
      {.text = "<|im_start|>user\n", .from_input = false},
      {.text = "<|im_end|>", .from_input = true},
      {.text = "<|im_end|>\n<|im_start|>assistant\n", .from_input = false}};
  EXPECT_EQ(render("chatml", asked).segments, expected);
}

TEST(ChatTemplate, ASpecialTokenFromTheCallerIsInput) {
  Asked asked;
  asked.arguments = {{"bos_token", "<|im_end|>"}};
  const std::string_view source = "{{ bos_token }}.{{ messages[0].content }}";
  EXPECT_TRUE(render(source, asked).segments.at(0).from_input);
  EXPECT_FALSE(render(source, {}).segments.at(0).from_input);
}

TEST(ChatTemplate, TheDeveloperIsTheSystemWhereATemplateDoesNotKnowOne) {
  Asked asked;
  asked.messages = {{{"role", "developer"}, {"content", "x"}}};
  EXPECT_EQ(text("{{ messages[0].role }} {{ messages[0].content }}", asked), "system x");
  EXPECT_EQ(
      text("{% if messages[0].role == 'developer' %}D{{ messages[0].content }}{% endif %}", asked),
      "Dx");
}

TEST(ChatTemplate, WhatATemplateHasNoPlaceForIsRefusedAndNamed) {
  Asked tools;
  tools.tools = {json::parse(R"({"type": "function", "function": {"name": "f"}})")};
  const std::string_view leaves_out =
      "{{ messages[0].content }}{% if false %}{{ tools }}{% endif %}";
  EXPECT_EQ(refusal(leaves_out, tools).error.kind, ErrorKind::kNotFound);
  EXPECT_EQ(refusal(leaves_out, tools).field, "tools") << "it mentions them";
  EXPECT_EQ(text(leaves_out, tools),
            "the model's chat template does not use tools, so the model would never see it; "
            "describe them in a message, or use a model trained for them");
  EXPECT_EQ(text("{{ messages[0].content }} {{ tools[0].function.name }}", tools), "hi f");

  Asked calls;
  calls.messages.emplace_back(json::parse(
      R"({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f"}}]})"));
  EXPECT_EQ(refusal("{{ messages[0].content }}{# tools tool_calls #}{{ tools }}", calls).field,
            "messages[1].tool_calls");
  EXPECT_EQ(text("{{ messages[0].content }} {{ messages[1].tool_calls[0].function.name }}", calls),
            "hi f");

  Asked argument;
  argument.arguments = {{"enable_thinking", true}};
  EXPECT_EQ(refusal("chatml", argument).field, "chat_template_kwargs.enable_thinking");
  EXPECT_EQ(text("chatml", argument),
            "the model's chat template does not know chat_template_kwargs.enable_thinking; take it "
            "out, or use a model that has it");
  argument.arguments = {{"reasoning_effort", "low"}};
  EXPECT_EQ(refusal("chatml", argument).field, "reasoning_effort");
}

// Knows users, and the assistant as long as it says something.
constexpr std::string_view kNarrow =
    "{% for m in messages %}{% if m.role == 'user' or m.role == 'assistant' %}"
    "{{ m.role }}: {{ m.content }}\n{% endif %}{% endfor %}";

Asked with_tool() {
  Asked asked;
  asked.tools = {json::parse(R"({"type": "function", "function": {"name": "f"}})")};
  return asked;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(ChatTemplate, ATemplateWithoutToolsGetsThemInAMessage) {
  Asked asked = with_tool();
  const std::string told = text("chatml", asked);
  EXPECT_TRUE(told.starts_with("<|im_start|>system\n# Functions")) << told;
  EXPECT_TRUE(contains(told, R"({"name":"f"})")) << told;
  EXPECT_TRUE(contains(told, "<tool_call>\n{\"name\": \"NAME\"")) << told;
  EXPECT_TRUE(told.ends_with("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")) << told;

  EXPECT_TRUE(contains(text(kNarrow, asked), "user: # Functions"))
      << "it has no place for a system message";
  EXPECT_TRUE(contains(text("{% if messages[0].role == 'system' %}{{ raise_exception('no') }}"
                            "{% endif %}{{ messages[0].content }}",
                            asked),
                       "# Functions"));
  EXPECT_EQ(refusal("{{ raise_exception('never') }}", asked).error.message, "never");
}

TEST(ChatTemplate, EarlierCallsAndResultsAreInMessagesToo) {
  Asked asked = with_tool();
  asked.messages.emplace_back(json::parse(R"({"role": "assistant", "content": "I look.",
      "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]})"));
  asked.messages.emplace_back(
      json::parse(R"({"role": "tool", "content": "42", "tool_call_id": "c"})"));
  EXPECT_TRUE(
      text("chatml", asked)
          .ends_with("<|im_start|>assistant\nI look.\n<tool_call>\n{\"name\": \"f\", "
                     "\"arguments\": {\"a\": 1}}\n</tool_call><|im_end|>\n<|im_start|>user\n"
                     "<tool_response>\n42\n</tool_response><|im_end|>\n"
                     "<|im_start|>assistant\n"))
      << text("chatml", asked);
  asked.tools = {};
  EXPECT_TRUE(text("chatml", asked).starts_with("<|im_start|>user\nhi")) << "no tools, no telling";
  EXPECT_TRUE(contains(text("chatml", asked), "42"));
}

// Agents name themselves beside their calls.
TEST(ChatTemplate, NamesAreWrittenBesideCallsInMessages) {
  Asked asked;
  asked.messages = json::parse(R"([{"role": "user", "name": "ann", "content": "hi"},
      {"role": "assistant", "name": "planner", "content": "", "tool_calls": [
        {"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "content": "42", "tool_call_id": "c"},
      {"role": "user", "name": "bob", "content": "and?"}])")
                       .as_array();
  const std::string written = text("chatml", asked);
  EXPECT_TRUE(contains(written, "<|im_start|>user\nann: hi<|im_end|>")) << written;
  EXPECT_TRUE(contains(written, "\n</tool_response>\nbob: and?<|im_end|>")) << written;
  EXPECT_FALSE(contains(written, "planner")) << written;
}

// The error names the part that cannot be written, and not the calls, which the fallback wrote.
TEST(ChatTemplate, APartThatVanishesBesideCallsInMessagesIsNamed) {
  Asked asked = with_tool();
  asked.messages = json::parse(R"([{"role": "user", "content": "hi"},
      {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "content": "42", "tool_call_id": "c"},
      {"role": "tool", "content": "43", "tool_call_id": "d"},
      {"role": "developer", "content": "Tersely."}])")
                       .as_array();
  EXPECT_EQ(refusal(kNarrow, asked).field, "messages[4].content");
  EXPECT_TRUE(contains(text(kNarrow, asked), "does not use messages[4].content"));
}

TEST(ChatTemplate, NoMessageVanishes) {
  Asked asked;
  asked.messages.push_back(json::object{{"role", "tool"}, {"content", "42"}});
  EXPECT_EQ(text(kNarrow, asked),
            "the model's chat template does not use messages[1].content, so the model would never "
            "see it; move it into a message of another role, or use a model trained "
            "for this one");
  EXPECT_EQ(refusal(kNarrow, asked).field, "messages[1].content");
  asked.messages.insert(asked.messages.begin(),
                        json::object{{"role", "system"}, {"content", "hi"}});
  EXPECT_EQ(refusal(kNarrow, asked).field, "messages[0].content") << "what a user says is the same";
  asked.messages = {{{"role", "system"}, {"content", " "}}, {{"role", "user"}, {"content", "hi"}}};
  EXPECT_EQ(text(kNarrow, asked), "user: hi\n") << "there is nothing to lose";
}

TEST(ChatTemplate, NoNameVanishes) {
  Asked asked;
  asked.messages = {{{"role", "user"}, {"content", "hi"}, {"name", "ann"}}};
  EXPECT_EQ(text("chatml", asked), "<|im_start|>user\nann: hi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(text("{{ messages[0].name }} says {{ messages[0].content }}", asked), "ann says hi")
      << "the template has a place for it";
  EXPECT_EQ(refusal("{{ 'x' }}", asked).field, "messages[0].content");
  asked.messages = {{{"role", "assistant"}, {"content", "hi"}, {"name", "planner"}}};
  EXPECT_EQ(text("{{ messages[0].content }}", asked), "hi") << "the role has told it";
  EXPECT_EQ(text("{{ messages[0].name }}: {{ messages[0].content }}", asked), "planner: hi");
  asked.messages = {{{"role", "tool"}, {"content", "4"}, {"name", "add"}, {"tool_call_id", "c"}}};
  EXPECT_EQ(text("{{ messages[0].content }}", asked), "4") << "the call has told it";
}

TEST(ChatTemplate, ANameIsNotBlamedForWhatElseVanishes) {
  Asked asked;
  asked.messages = {{{"role", "user"}, {"content", "hi"}, {"name", "ann"}},
                    {{"role", "tool"}, {"content", "42"}}};
  EXPECT_EQ(refusal(kNarrow, asked).field, "messages[1].content");
}

TEST(ChatTemplate, WhatATemplateChangesIsThereAllTheSame) {
  Asked asked;
  asked.messages = {{{"role", "assistant"}, {"content", "<think>hm</think> \"4\" "}}};
  EXPECT_EQ(text("{{ messages[0].content.split('</think>')[-1] | trim | tojson }}", asked),
            "\"\\\"4\\\"\"");
}

// A call as its caller may write it: content and arguments in each of the forms.
Asked with_call(json::value content, json::value arguments) {
  Asked asked;
  asked.messages.push_back(
      {{"role", "assistant"},
       {"content", std::move(content)},
       {"tool_calls",
        json::array{{{"id", "c"},
                     {"type", "function"},
                     {"function", {{"name", "add"}, {"arguments", std::move(arguments)}}}}}}});
  return asked;
}

TEST(ChatTemplate, ACallIsGivenInTheFormThatTheTemplateTakes) {
  struct Case {
    std::string_view source;  // of the second message
    std::string_view wanted;
  };
  const std::vector<Case> cases = {
      {"{{ m.content }}{{ f.name }}({{ f.arguments.items() | list }})", "add([('a', 1.5)])"},
      {"{{ m.content }}{{ f.name + f.arguments }}", R"(add{"a": 1.5})"},
      {"{% if m.content is none %}{{ f.name }}({{ f.arguments.a }}{{ f.arguments.of }})"
       "{% else %}{{ m.content }}{% endif %}",
       "add(1.5)"},
      {"{% if m.content is none %}{{ f.name + f.arguments }}{% else %}{{ m.content }}{% endif %}",
       R"(add{"a": 1.5})"},
  };
  for (const Case& one : cases) {
    const std::string source =
        "{{ messages[0].content }}|{% set m = messages[1] %}{% set f = m.tool_calls[0].function "
        "%}" +
        std::string(one.source);
    const std::string wanted = "hi|" + std::string(one.wanted);
    for (const json::value& content : {json::value(nullptr), json::value("")}) {
      EXPECT_EQ(text(source, with_call(content, R"({"a": 1.5})")), wanted) << source;
      EXPECT_EQ(text(source, with_call(content, {{"a", 1.5}})), wanted) << source;
    }
  }
}

TEST(ChatTemplate, ACallThatVanishesInEveryFormIsRefused) {
  const std::string_view source =
      "{{ messages[0].content }}{% set m = messages[1] %}{% if m.content is none %}"
      "{{ m.tool_calls[0].function.name + m.tool_calls[0].function.arguments }}{% else %}"
      "{{ m.content }}{% endif %}";
  EXPECT_EQ(text(source, with_call("", json::object{{"a", 1}})), R"(hiadd{"a": 1})");
  const Unwritable lost = refusal(source, with_call("ok", json::object{{"a", 1}}));
  EXPECT_EQ(lost.error.kind, ErrorKind::kNotFound);
  EXPECT_EQ(lost.field, "messages[1].tool_calls");
}

TEST(ChatTemplate, NothingIsWrittenForContentThatIsNotThere) {
  EXPECT_EQ(text("{{ messages[0].content }}.{{ messages[1].content }}"
                 "{{ messages[1].tool_calls[0].function.name }}"
                 "{{ messages[1].tool_calls[0].function.arguments.items() | list }}",
                 with_call(nullptr, json::object{{"a", 1}})),
            "hi.add[('a', 1)]");
}

TEST(ChatTemplate, ARefusalByTheTemplateIsInItsOwnWords) {
  const Unwritable refused = refusal("{{ raise_exception('no system role') }}", {});
  EXPECT_EQ(refused.error.kind, ErrorKind::kInvalid);
  EXPECT_EQ(refused.error.message, "no system role");
  EXPECT_EQ(refused.field, "messages");
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
