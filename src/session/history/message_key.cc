#include "session/history/message_key.h"

#include <array>
#include <boost/json/value.hpp>
#include <string>
#include <utility>

#include "session/history/canonical_json.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

constexpr std::array<std::pair<std::string_view, MatchRule>, 3> kNames = {
    {{"strict", MatchRule::kStrict},
     {"loose_tool_call", MatchRule::kLooseToolCalls},
     {"role_content_only", MatchRule::kRoleAndContent}}};

// Null, "" and [] are as good as absent.
bool is_empty(const json::value& value) {
  if (const json::string* text = value.if_string()) return text->empty();
  if (const json::array* elements = value.if_array()) return elements->empty();
  return value.is_null();
}

void append_member(const json::object& message, std::string_view name, std::string& form) {
  static const json::value kAbsent;
  const json::value* value = message.if_contains(name);
  append_canonical(value == nullptr || is_empty(*value) ? kAbsent : *value, form);
}

// Arguments of a call as the object that they are, written as text or not; none are an empty
// object. What is no object is compared as it is.
void append_arguments(const json::value& arguments, std::string& form) {
  const json::string* text = arguments.if_string();
  if (arguments.is_null() || (text != nullptr && text->empty())) {
    begin_canonical_object(0, form);
  } else if (const auto object = text == nullptr ? std::nullopt : canonical_object_of(*text)) {
    form += *object;
  } else {
    append_canonical(arguments, form);
  }
}

void append_function(const json::object& function, std::string& form) {
  begin_canonical_object(function.size(), form);
  for (const json::key_value_pair* member : sorted_members(function)) {
    append_canonical_text(member->key(), form);
    if (member->key() == "arguments") {
      append_arguments(member->value(), form);
    } else {
      append_canonical(member->value(), form);
    }
  }
}

// Without `index`: servers write it, and clients that put a stream together leave it out.
void append_call(const json::object& call, MatchRule rule, std::string& form) {
  begin_canonical_object(call.size() - (call.contains("index") ? 1 : 0), form);
  for (const json::key_value_pair* member : sorted_members(call)) {
    if (member->key() == "index") continue;
    append_canonical_text(member->key(), form);
    const json::object* function = member->value().if_object();
    if (rule == MatchRule::kLooseToolCalls && member->key() == "function" && function != nullptr) {
      append_function(*function, form);
    } else {
      append_canonical(member->value(), form);
    }
  }
}

void append_calls(const json::object& message, MatchRule rule, std::string& form) {
  const json::value* calls = message.if_contains("tool_calls");
  const json::array* list = calls == nullptr ? nullptr : calls->if_array();
  if (list == nullptr || list->empty()) return append_member(message, "tool_calls", form);
  begin_canonical_array(list->size(), form);
  for (const json::value& call : *list) {
    if (const json::object* object = call.if_object()) {
      append_call(*object, rule, form);
    } else {
      append_canonical(call, form);
    }
  }
}

}  // namespace

std::string_view to_string(MatchRule rule) {
  return kNames.at(static_cast<size_t>(rule)).first;
}

std::optional<MatchRule> match_rule_of(std::string_view name) {
  for (const auto& [known, rule] : kNames)
    if (known == name) return rule;
  return std::nullopt;
}

MessageKey key_of(const json::object& message, MatchRule rule) {
  std::string form;
  append_member(message, "role", form);
  append_member(message, "content", form);
  if (rule != MatchRule::kRoleAndContent) {
    append_member(message, "reasoning_content", form);
    append_calls(message, rule, form);
  }
  return hash128(form);
}

}  // namespace windrow::session
