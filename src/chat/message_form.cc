#include "chat/message_form.h"

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "jinja/template.h"

namespace windrow::chat {

namespace json = boost::json;

namespace {

// As deep as a request may be.
constexpr size_t kDepthMax = 128;

constexpr std::array kForms = std::to_array<MessageForm>({
    {.arguments_as_text = false, .content_as_null = false},
    {.arguments_as_text = true, .content_as_null = false},
    {.arguments_as_text = false, .content_as_null = true},
    {.arguments_as_text = true, .content_as_null = true},
});

json::array* tool_calls_of(json::value& message) {
  json::value* calls = message.as_object().if_contains("tool_calls");
  return calls == nullptr ? nullptr : calls->if_array();
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
  json::parse_options options;
  options.max_depth = kDepthMax;
  boost::system::error_code error;
  json::value parsed = json::parse(*text, error, json::storage_ptr(), options);
  if (!error) arguments = std::move(parsed);
}

}  // namespace

std::span<const MessageForm> forms_of(const json::array& messages) {
  for (const json::value& message : messages) {
    if (message.as_object().contains("tool_calls")) return kForms;
  }
  return std::span(kForms).first(1);
}

json::array in_form(json::array messages, MessageForm form) {
  for (json::value& message : messages) {
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
