#include "chat/tool_syntax.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/ensure.h"
#include "chat/harmony.h"
#include "json/limits.h"

namespace windrow::chat {

namespace json = boost::json;

namespace {

using Form = ToolSyntax::Form;

bool text_contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// As ReasoningStream says calls, in whatever way the model wrote them.
ToolSyntax channels() {
  return {.form = Form::kNamed,
          .mark = std::string(harmony::kCallOpen),
          .open = std::string(harmony::kCallOpen),
          .middle = std::string(harmony::kCallMiddle),
          .close = std::string(harmony::kCall),
          .blanks_vary = true,
          .several = false};
}

constexpr std::string_view kDeepSeekBegin = "<｜tool▁calls▁begin｜>";

// V3 and R1.
ToolSyntax deepseek_fenced() {
  return {.form = Form::kNamed,
          .mark = std::string(kDeepSeekBegin),
          .begin = std::string(kDeepSeekBegin),
          .open = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
          .middle = "\n```json\n",
          .close = "\n```<｜tool▁call▁end｜>",
          .between = "\n",
          .end = "<｜tool▁calls▁end｜>"};
}

ToolSyntax deepseek_plain() {
  return {.form = Form::kNamed,
          .mark = std::string(kDeepSeekBegin),
          .begin = std::string(kDeepSeekBegin),
          .open = "<｜tool▁call▁begin｜>",
          .middle = "<｜tool▁sep｜>",
          .close = "<｜tool▁call▁end｜>",
          .end = "<｜tool▁calls▁end｜>"};
}

// A list of objects behind a mark.
ToolSyntax json_list(std::string_view mark, std::string_view blank, std::string_view close) {
  return {.form = Form::kJson,
          .mark = std::string(mark),
          .begin = std::string(mark).append(blank).append("["),
          .open = R"({"name": ")",
          .middle = R"(", "arguments": )",
          .close = "}",
          .between = ", ",
          .end = "]" + std::string(close),
          .list = true};
}

ToolSyntax mistral_named(bool with_ids) {
  return {.form = Form::kNamed,
          .mark = "[TOOL_CALLS]",
          .open = "[TOOL_CALLS]",
          .middle = "[ARGS]",
          .name_tail = with_ids ? "[CALL_ID]" : ""};
}

ToolSyntax functions_in_tags(std::string_view mark, std::string_view value_break) {
  const std::string name(mark.substr(1));
  return {.form = Form::kTagged,
          .mark = std::string(mark),
          .open = std::string(mark) + "\n<function=",
          .middle = ">\n",
          .close = "</function>\n</" + name,
          .between = "\n",
          .key_open = "<parameter=",
          .key_close = ">" + std::string(value_break),
          .value_close = std::string(value_break) + "</parameter>\n"};
}

ToolSyntax minimax() {
  return {.form = Form::kTagged,
          .mark = "<minimax:tool_call>",
          .begin = "<minimax:tool_call>\n",
          .open = "<invoke name=\"",
          .middle = "\">\n",
          .close = "</invoke>\n",
          .end = "</minimax:tool_call>",
          .key_open = "<parameter name=\"",
          .key_close = "\">",
          .value_close = "</parameter>\n"};
}

ToolSyntax glm() {
  return {.form = Form::kTagged,
          .mark = "<tool_call>",
          .open = "<tool_call>",
          .middle = "\n",
          .close = "</tool_call>",
          .between = "\n",
          .key_open = "<arg_key>",
          .key_close = "</arg_key>\n<arg_value>",
          .value_close = "</arg_value>\n"};
}

// Functionary.
ToolSyntax function_tags() {
  return {.form = Form::kNamed,
          .mark = "<function=",
          .open = "<function=",
          .middle = ">",
          .close = "</function>"};
}

ToolSyntax llama() {
  return {.form = Form::kJson,
          .open = R"({"name": ")",
          .middle = R"(", "parameters": )",
          .close = "}",
          .arguments_key = "parameters",
          .preamble = "<|python_tag|>",
          .text_before = false,
          .several = false};
}

std::string syntax_text(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

}  // namespace

ToolSyntax generic_tool_syntax() {
  return {.form = Form::kJson,
          .mark = "<tool_call>",
          .open = "<tool_call>\n{\"name\": \"",
          .middle = R"(", "arguments": )",
          .close = "}\n</tool_call>",
          .between = "\n"};
}

std::vector<std::string> ToolSyntax::marks() const {
  std::vector<std::string> marks;
  // Marks that are not control tokens are text anyway, so parts of them do no harm.
  const auto add_parts = [&](std::string_view text) {
    constexpr std::string_view kOpens = "<[";
    while (true) {
      const size_t at = text.find_first_of(kOpens);
      if (at == std::string_view::npos) return;
      text.remove_prefix(at);
      const size_t size = text.find(text.front() == '<' ? '>' : ']');
      if (size == std::string_view::npos) return;
      marks.emplace_back(text.substr(0, size + 1));
      text.remove_prefix(size + 1);
    }
  };
  for (const std::string* text : {&mark, &begin, &open, &middle, &close, &between, &end, &key_open,
                                  &key_close, &value_close, &preamble, &name_tail}) {
    add_parts(*text);
  }
  return marks;
}

ToolSyntax recognise_tool_syntax(std::string_view template_source) {
  const auto has = [&](std::string_view part) { return text_contains(template_source, part); };
  if (has("<|channel|>") && has("functions.")) return channels();
  if (has(kDeepSeekBegin)) return has("```") ? deepseek_fenced() : deepseek_plain();
  if (has("[TOOL_CALLS]")) {
    return has("[ARGS]") ? mistral_named(has("[CALL_ID]")) : json_list("[TOOL_CALLS]", "", "");
  }
  if (has("<minimax:tool_call>")) return minimax();
  if (has("<seed:tool_call>")) return functions_in_tags("<seed:tool_call>", "");
  if (has("<tool_calls>[")) return json_list("<tool_calls>", "", "</tool_calls>");
  if (has("<tool_call>")) {
    if (has("<arg_key>")) return glm();
    if (has("<function=")) return functions_in_tags("<tool_call>", "\n");
    return generic_tool_syntax();
  }
  if (has("<|tool_call|>")) return json_list("<|tool_call|>", "", "");
  if (has("<function=") && has("</function>")) return function_tags();
  if (has("<|start_header_id|>") && has("\"parameters\"")) return llama();
  return {};
}

std::string write_calls(const ToolSyntax& syntax, std::span<const WrittenCall> calls) {
  ENSURE(syntax.form != Form::kNone && !calls.empty(), "no calls to write");
  std::string text = syntax.begin;
  bool first = true;
  for (const WrittenCall& call : calls) {
    if (!first) text += syntax.between;
    first = false;
    text += syntax.open;
    text += call.name;
    text += syntax.middle;
    if (syntax.form == Form::kTagged) {
      const json::value arguments = json::parse(call.arguments, {}, {.max_depth = kJsonDepthMax});
      for (const auto& [key, value] : arguments.as_object()) {
        text.append(syntax.key_open).append(key).append(syntax.key_close);
        text.append(syntax_text(value)).append(syntax.value_close);
      }
    } else {
      text += call.arguments;
    }
    text += syntax.close;
  }
  return text += syntax.end;
}

}  // namespace windrow::chat
