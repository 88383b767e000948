#include "chat/chat_template.h"

#include <fmt/format.h>

#include <utility>

namespace windrow::chat {

namespace json = boost::json;

namespace {

// ChatML as OpenAI described it: what a model without a template of its own most likely knows.
constexpr std::string_view kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

std::string_view built_in(std::string_view source) {
  return source == "chatml" ? kChatMl : source;
}

bool any_message_has(const json::array& messages, std::string_view member) {
  for (const json::value& message : messages) {
    const json::value* value = message.as_object().if_contains(member);
    if (value != nullptr && !value->is_null()) return true;
  }
  return false;
}

Error no_place_for(std::string_view what, std::string_view advice) {
  return Error{ErrorKind::kNotFound,
               fmt::format("the model's chat template has no place for {}, so they would be left "
                           "out without a word; {}",
                           what, advice)};
}

}  // namespace

Result<ChatTemplate> ChatTemplate::make(std::string_view source, SpecialTokens tokens) {
  Result<jinja::Template> parsed = jinja::Template::parse(built_in(source));
  if (!parsed) return parsed.error();
  return ChatTemplate(*std::move(parsed), std::move(tokens));
}

ChatTemplate::ChatTemplate(jinja::Template parsed, SpecialTokens tokens)
    : template_(std::move(parsed)),
      tokens_(std::move(tokens)),
      reasoning_(recognise_reasoning(template_.source())) {}

// What a template never mentions it cannot honour.
std::optional<Error> ChatTemplate::find_missing(const Conversation& conversation) const {
  if (!conversation.tools.empty() && !template_.mentions("tools")) {
    return no_place_for("tools", "describe them in a message, or use a model trained for them");
  }
  if (any_message_has(conversation.messages, "tool_calls") && !template_.mentions("tool_calls")) {
    return no_place_for("the tool_calls of a message",
                        "write them into its content, or use a model trained for them");
  }
  for (const auto& argument : conversation.arguments) {
    const std::string_view name = argument.key();
    if (template_.mentions(name)) continue;
    return Error{ErrorKind::kNotFound,
                 fmt::format("the model's chat template does not know {}; take it out, or use a "
                             "model that has it",
                             name)};
  }
  return std::nullopt;
}

// OpenAI's name for the system role is newer than most templates.
json::array ChatTemplate::messages_for(const Conversation& conversation) const {
  json::array messages = conversation.messages;
  if (template_.mentions("developer")) return messages;
  for (json::value& message : messages) {
    json::value& role = message.as_object()["role"];
    if (role == "developer") role = "system";
  }
  return messages;
}

Result<jinja::Rendered> ChatTemplate::render(const Conversation& conversation,
                                             int64_t now_unix_s) const {
  if (std::optional<Error> missing = find_missing(conversation)) return *std::move(missing);
  // The names transformers gives; those of the caller win, as there.
  json::object variables{{"messages", messages_for(conversation)},
                         {"add_generation_prompt", true},
                         {"bos_token", tokens_.begin},
                         {"eos_token", tokens_.end},
                         {"documents", nullptr}};
  variables["tools"] = conversation.tools.empty() ? json::value() : json::value(conversation.tools);
  for (const auto& argument : conversation.arguments)
    variables[argument.key()] = argument.value();
  std::vector<std::string> trusted = {"messages.*.role"};
  for (const char* name : {"bos_token", "eos_token"}) {
    if (!conversation.arguments.contains(name)) trusted.emplace_back(name);
  }
  return template_.render(variables, {.now = jinja::utc_time(now_unix_s), .trusted = trusted});
}

}  // namespace windrow::chat
