#include "chat/tool_prompt_fallback.h"

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <utility>
#include <vector>

#include "chat/message_form.h"

namespace windrow::chat {

namespace json = boost::json;

namespace {

std::string description(const json::array& tools, const ToolSyntax& syntax) {
  std::string text = "# Functions\n\nYou may call functions to answer. These are there:\n";
  for (const json::value& tool : tools)
    text += "\n" + json::serialize(tool.at("function"));
  const std::array<WrittenCall, 1> example = {
      {{.name = "NAME", .arguments = R"({"PARAMETER": "VALUE"})"}}};
  text += "\n\nTo call one, write exactly this, with its name and its parameters, and stop:\n\n" +
          write_calls(syntax, example) + "\n\n";
  if (syntax.several) text += "You may write several, one behind the other. ";
  return text +
         "The results come in the next message, each between <tool_response> and "
         "</tool_response>. Where no function helps, answer without one.";
}

std::string content_of(const json::value& message) {
  const json::value* content = message.as_object().if_contains("content");
  return content != nullptr && content->is_string() ? std::string(content->get_string()) : "";
}

std::string joined(std::string before, std::string_view break_between, std::string_view behind) {
  if (before.empty()) return std::string(behind);
  return std::move(before.append(break_between).append(behind));
}

json::object with_calls_as_text(json::object message, const ToolSyntax& syntax) {
  std::vector<WrittenCall> calls;
  for (const json::value& call : message.at("tool_calls").as_array()) {
    const json::object& function = call.at("function").as_object();
    const json::value* arguments = function.if_contains("arguments");
    const json::string* text = arguments == nullptr ? nullptr : arguments->if_string();
    std::string written = "{}";
    if (text != nullptr) {
      written = std::string(*text);
    } else if (arguments != nullptr) {
      written = json::serialize(*arguments);
    }
    calls.push_back(
        {.name = std::string(function.at("name").as_string()), .arguments = std::move(written)});
  }
  message["content"] = joined(content_of(message), "\n", write_calls(syntax, calls));
  message.erase("tool_calls");
  return message;
}

// Results and a user message right after them become one message.
class ResultTurns {
 public:
  // Whether this message joins the one before it.
  bool joins(const json::value& message) {
    const json::string& role = message.at("role").as_string();
    const bool result = role == "tool";
    const bool joined = open_ && (result || role == "user");
    open_ = result;
    return joined;
  }

 private:
  bool open_ = false;  // the last message was a result
};

}  // namespace

size_t source_message(const json::array& messages, size_t rewritten) {
  ResultTurns turns;
  size_t count = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!turns.joins(messages[i]) && count++ == rewritten) return i;
  }
  return rewritten;
}

json::array describe_tools_in_messages(const json::array& messages, const json::array& tools,
                                       const ToolSyntax& syntax, bool writes_calls,
                                       ToolPromptRole role) {
  json::array rewritten;
  ResultTurns turns;
  for (const json::value& message : messages) {
    const bool result = message.at("role") == "tool";
    const bool joins = turns.joins(message);
    if (result || joins) {
      const std::string text =
          result ? "<tool_response>\n" + content_of(message) + "\n</tool_response>"
                 : named_content(message);
      if (joins) {
        json::value& content = rewritten.back().as_object()["content"];
        content = joined(std::string(content.as_string()), "\n", text);
      } else {
        rewritten.push_back(json::object{{"role", "user"}, {"content", text}});
      }
      continue;
    }
    const json::value* calls = message.as_object().if_contains("tool_calls");
    const bool as_text =
        !writes_calls && calls != nullptr && calls->is_array() && !calls->get_array().empty();
    rewritten.push_back(as_text ? json::value(with_calls_as_text(message.as_object(), syntax))
                                : message);
  }
  if (tools.empty()) return rewritten;
  const std::string text = description(tools, syntax);
  const std::string_view wanted = role == ToolPromptRole::kSystem ? "system" : "user";
  for (json::value& message : rewritten) {
    const json::string& message_role = message.at("role").as_string();
    if (message_role != wanted && !(message_role == "developer" && role == ToolPromptRole::kSystem))
      continue;
    json::value& content = message.as_object()["content"];
    content = role == ToolPromptRole::kSystem ? joined(content_of(message), "\n\n", text)
                                              : joined(text, "\n\n", content_of(message));
    return rewritten;
  }
  rewritten.insert(rewritten.begin(), json::object{{"role", wanted}, {"content", text}});
  return rewritten;
}

}  // namespace windrow::chat
