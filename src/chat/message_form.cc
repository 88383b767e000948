#include "chat/message_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "jinja/template.h"
#include "json/limits.h"

namespace windrow::chat {

namespace json = boost::json;

namespace {

// Mistral's.
constexpr size_t kShortId = 9;

json::array* tool_calls_of(json::value& message) {
  json::value* calls = message.as_object().if_contains("tool_calls");
  return calls == nullptr ? nullptr : calls->if_array();
}

const json::array* tool_calls_of(const json::value& message) {
  const json::value* calls = message.as_object().if_contains("tool_calls");
  return calls == nullptr ? nullptr : calls->if_array();
}

std::string_view id_of(const json::value& call, std::string_view key) {
  const json::value* id = call.as_object().if_contains(key);
  return id != nullptr && id->is_string() ? std::string_view(id->get_string()) : "";
}

bool is_short(std::string_view id) {
  return id.size() == kShortId && std::ranges::all_of(id, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
         });
}

// Numbers the ids in order of appearance, equally in calls and in their results.
void shorten_ids(json::array& messages) {
  std::map<std::string, std::string, std::less<>> ids;
  const auto shorten = [&](json::value& id) {
    if (!id.is_string()) return;
    const auto [found, is_new] = ids.try_emplace(std::string(id.get_string()));
    if (is_new) found->second = fmt::format("call{:05}", ids.size() - 1);
    id = found->second;
  };
  for (json::value& message : messages) {
    if (json::array* calls = tool_calls_of(message)) {
      for (json::value& call : *calls) {
        if (json::value* id = call.as_object().if_contains("id")) shorten(*id);
      }
    }
    if (json::value* id = message.as_object().if_contains("tool_call_id")) shorten(*id);
  }
}

// A message with several calls becomes one message per call, each followed by the result of its
// call. Other results, and second results of a call, come after all of them.
void separate_calls(json::array& messages) {
  json::array parted;
  for (auto message = messages.begin(); message != messages.end();) {
    json::array* calls = tool_calls_of(*message);
    if (calls == nullptr || calls->size() < 2) {
      parted.push_back(std::move(*message++));
      continue;
    }
    const auto results = message + 1;
    auto next = results;
    while (next != messages.end() && next->at("role") == "tool")
      ++next;
    std::vector<bool> used(static_cast<size_t>(next - results));
    for (size_t i = 0; i < calls->size(); ++i) {
      json::value alone = *message;
      *tool_calls_of(alone) = {(*calls)[i]};
      // Content and reasoning stay with the first call.
      if (i > 0) {
        alone.as_object()["content"] = "";
        alone.as_object().erase("reasoning_content");
      }
      parted.push_back(std::move(alone));
      for (size_t j = 0; j < used.size(); ++j) {
        if (used[j] ||
            id_of(results[static_cast<ptrdiff_t>(j)], "tool_call_id") != id_of((*calls)[i], "id"))
          continue;
        used[j] = true;
        parted.push_back(results[static_cast<ptrdiff_t>(j)]);
        break;
      }
    }
    for (size_t j = 0; j < used.size(); ++j) {
      if (!used[j]) parted.push_back(results[static_cast<ptrdiff_t>(j)]);
    }
    message = next;
  }
  messages = std::move(parted);
}

// As Python writes JSON, which is what models were trained on.
std::string text_of(const json::value& arguments) {
  static const jinja::Template write = jinja::Template::parse("{{ arguments | tojson }}").value();
  const Result<jinja::Rendered> text = write.render({{"arguments", arguments}});
  return text ? text->text() : "";
}

void put_in_form(json::value& arguments, MessageForm form) {
  if (form.arguments_as_text) {
    if (!arguments.is_string()) arguments = text_of(arguments);
    return;
  }
  const json::string* text = arguments.if_string();
  if (text == nullptr) return;
  boost::system::error_code error;
  json::value parsed = json::parse(*text, error, {}, {.max_depth = kJsonDepthMax});
  if (!error) arguments = std::move(parsed);
}

}  // namespace

std::vector<MessageForm> forms_of(const json::array& messages) {
  bool calls = false;
  bool long_ids = false;
  bool several = false;
  bool named = false;
  for (const json::value& message : messages) {
    named = named || has_telling_name(message);
    const std::string_view answered = id_of(message, "tool_call_id");
    long_ids = long_ids || (!answered.empty() && !is_short(answered));
    if (const json::array* made = tool_calls_of(message)) {
      calls = true;
      several = several || made->size() > 1;
      for (const json::value& call : *made) {
        const std::string_view id = id_of(call, "id");
        long_ids = long_ids || (!id.empty() && !is_short(id));
      }
    }
  }
  std::vector<MessageForm> forms;
  for (const bool one_call_each : {false, true}) {
    if (one_call_each && !several) continue;
    for (const bool short_ids : {false, true}) {
      if (short_ids && !long_ids) continue;
      for (const bool as_null : {false, true}) {
        for (const bool as_text : {false, true}) {
          if ((as_null || as_text) && !calls) continue;
          forms.push_back({.arguments_as_text = as_text,
                           .content_as_null = as_null,
                           .short_ids = short_ids,
                           .one_call_each = one_call_each});
        }
      }
    }
  }
  if (!named) return forms;
  std::vector<MessageForm> with_names = forms;
  for (MessageForm& form : with_names)
    form.names_in_content = true;
  forms.insert(forms.end(), with_names.begin(), with_names.end());
  return forms;
}

bool has_telling_name(const json::value& message) {
  const json::object& object = message.as_object();
  const json::value* role = object.if_contains("role");
  if (role != nullptr && (*role == "assistant" || *role == "tool")) return false;
  const json::value* name = object.if_contains("name");
  return name != nullptr && name->is_string() &&
         std::string_view(name->get_string()).find_first_not_of(" \t\r\n") !=
             std::string_view::npos;
}

std::string named_content(const json::value& message) {
  const json::object& object = message.as_object();
  const json::value* content = object.if_contains("content");
  std::string text(content != nullptr && content->is_string()
                       ? std::string_view(content->get_string())
                       : std::string_view());
  if (!has_telling_name(message)) return text;
  return fmt::format("{}: {}", std::string_view(object.at("name").get_string()), text);
}

json::array in_form(json::array messages, MessageForm form) {
  if (form.one_call_each) separate_calls(messages);
  if (form.short_ids) shorten_ids(messages);
  for (json::value& message : messages) {
    if (form.names_in_content && has_telling_name(message)) {
      message.as_object()["content"] = named_content(message);
      message.as_object().erase("name");
    }
    if (tool_calls_of(message) == nullptr) continue;
    json::value& content = message.as_object()["content"];
    if (content.is_null()) content = "";
    if (form.content_as_null && content == "") content = nullptr;
    // Only now: a member that was added may have moved the others.
    for (json::value& call : *tool_calls_of(message)) {
      json::value* function = call.as_object().if_contains("function");
      if (function == nullptr || !function->is_object()) continue;
      json::value* arguments = function->get_object().if_contains("arguments");
      if (arguments != nullptr) put_in_form(*arguments, form);
    }
  }
  return messages;
}

}  // namespace windrow::chat
