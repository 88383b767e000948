#include "chat/template_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chat/marks.h"

namespace windrow::chat {

namespace json = boost::json;

namespace {

bool has_text(const json::value* text) {
  return text != nullptr && text->is_string() &&
         std::string_view(text->get_string()).find_first_not_of(kSpace) != std::string_view::npos;
}

// Whether every template writes this name unchanged.
bool is_plain(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Vanished vanished_tools() {
  return {.field = "tools",
          .advice = "describe them in a message, or use a model trained for them"};
}

// The word ends as it begins, so that none is a part of another.
std::string TemplateProbe::add_word(Vanished vanished) {
  std::string word = fmt::format("zq{}qz", witnesses_.size());
  witnesses_.push_back({.word = word, .vanished = std::move(vanished)});
  return word;
}

TemplateProbe::TemplateProbe(const Conversation& conversation) : messages_(conversation.messages) {
  for (size_t i = 0; i < messages_.size(); ++i)
    replace_texts(fmt::format("messages[{}]", i), messages_[i].as_object());
  for (const json::value& tool : conversation.tools) {
    const json::value* function = tool.as_object().if_contains("function");
    if (function == nullptr || !function->is_object()) continue;
    const json::value* name = function->get_object().if_contains("name");
    if (name == nullptr || !name->is_string() || !is_plain(name->get_string())) continue;
    witnesses_.push_back({.word = std::string(name->get_string()), .vanished = vanished_tools()});
  }
}

void TemplateProbe::replace_texts(const std::string& field, json::object& message) {
  json::value* calls = message.if_contains("tool_calls");
  const bool has_calls = calls != nullptr && calls->is_array();
  if (has_calls) {
    for (json::value& call : calls->get_array())
      replace_call(field, call);
  }
  if (json::value* content = message.if_contains("content"); has_text(content)) {
    *content = add_word(
        {.field = field + ".content",
         .advice = has_calls ? "take it out, or move it into a message of its own"
                             : "move it into a message of another role, or use a model trained "
                               "for this one"});
  }
  json::value* name = message.if_contains("name");
  if (!has_text(name)) return;
  if (message.at("role") == "assistant") return;
  if (message.at("role") != "tool") {
    *name = add_word({.field = field + ".name", .advice = "write it into the content"});
  } else if (const auto called = word_of_function_.find(std::string_view(name->get_string()));
             called != word_of_function_.end()) {
    *name = called->second;
  }
}

void TemplateProbe::replace_call(const std::string& field, json::value& call) {
  json::value* member = call.as_object().if_contains("function");
  json::object* function = member == nullptr ? nullptr : member->if_object();
  if (function == nullptr) return;
  const Vanished vanished{
      .field = field + ".tool_calls",
      .advice = "write them into its content, or use a model trained for tools"};
  if (json::value* name = function->if_contains("name"); has_text(name)) {
    const auto [called, is_new] = word_of_function_.try_emplace(std::string(name->get_string()));
    if (is_new) called->second = add_word(vanished);
    *name = called->second;
  }
  json::value* arguments = function->if_contains("arguments");
  if (arguments == nullptr || *arguments == json::object() || *arguments == "{}") return;
  *arguments = json::object{{"of", add_word(vanished)}};
}

std::optional<Vanished> TemplateProbe::missing_from(std::string_view rendered) const {
  for (const Witness& witness : witnesses_) {
    if (rendered.find(witness.word) == std::string_view::npos) return witness.vanished;
  }
  return std::nullopt;
}

}  // namespace windrow::chat
