#include "chat/witnesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace windrow::chat {

namespace json = boost::json;

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool says_something(const json::value* text) {
  return text != nullptr && text->is_string() &&
         std::string_view(text->get_string()).find_first_not_of(kBlanks) != std::string_view::npos;
}

// Names that no way of writing them changes.
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

// Ends as it begins, so that none is a part of another.
std::string Witnesses::add(Vanished vanished) {
  std::string word = fmt::format("zq{}qz", all_.size());
  all_.push_back({.word = word, .vanished = std::move(vanished)});
  return word;
}

Witnesses::Witnesses(const Conversation& conversation) : messages_(conversation.messages) {
  for (size_t i = 0; i < messages_.size(); ++i)
    replace_texts(fmt::format("messages[{}]", i), messages_[i].as_object());
  for (const json::value& tool : conversation.tools) {
    const json::value* function = tool.as_object().if_contains("function");
    if (function == nullptr || !function->is_object()) continue;
    const json::value* name = function->get_object().if_contains("name");
    if (name == nullptr || !name->is_string() || !is_plain(name->get_string())) continue;
    all_.push_back({.word = std::string(name->get_string()), .vanished = vanished_tools()});
  }
}

void Witnesses::replace_texts(const std::string& place, json::object& message) {
  json::value* calls = message.if_contains("tool_calls");
  const bool has_calls = calls != nullptr && calls->is_array();
  if (has_calls) {
    for (json::value& call : calls->get_array())
      replace_call(place, call);
  }
  if (json::value* content = message.if_contains("content"); says_something(content)) {
    *content =
        add({.field = place + ".content",
             .advice = has_calls ? "take it out, or move it into a message of its own"
                                 : "move it into a message of another role, or use a model trained "
                                   "for this one"});
  }
  json::value* name = message.if_contains("name");
  if (!says_something(name)) return;
  if (message.at("role") == "assistant") return;
  if (message.at("role") != "tool") {
    *name = add({.field = place + ".name", .advice = "write it into the content"});
  } else if (const auto called = called_.find(std::string_view(name->get_string()));
             called != called_.end()) {
    *name = called->second;
  }
}

void Witnesses::replace_call(const std::string& place, json::value& call) {
  json::value* member = call.as_object().if_contains("function");
  json::object* function = member == nullptr ? nullptr : member->if_object();
  if (function == nullptr) return;
  const Vanished vanished{
      .field = place + ".tool_calls",
      .advice = "write them into its content, or use a model trained for tools"};
  if (json::value* name = function->if_contains("name"); says_something(name)) {
    const auto [called, is_new] = called_.try_emplace(std::string(name->get_string()));
    if (is_new) called->second = add(vanished);
    *name = called->second;
  }
  json::value* arguments = function->if_contains("arguments");
  if (arguments == nullptr || *arguments == json::object() || *arguments == "{}") return;
  *arguments = json::object{{"of", add(vanished)}};
}

std::optional<Vanished> Witnesses::missing_from(std::string_view rendered) const {
  for (const Witness& witness : all_) {
    if (rendered.find(witness.word) == std::string_view::npos) return witness.vanished;
  }
  return std::nullopt;
}

}  // namespace windrow::chat
