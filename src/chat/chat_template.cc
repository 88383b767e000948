#include "chat/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "chat/template_probe.h"
#include "chat/tool_prompt_fallback.h"

namespace windrow::chat {

namespace json = boost::json;

namespace {

// ChatML as OpenAI described it: a model without a template of its own most likely knows it.
constexpr std::string_view kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

std::string_view built_in(std::string_view source) {
  return source == "chatml" ? kChatMl : source;
}

// The field of the body with this argument of the template.
std::string field_of(std::string_view argument) {
  return argument == "reasoning_effort" ? std::string(argument)
                                        : fmt::format("chat_template_kwargs.{}", argument);
}

Unwritable no_place_for(const Vanished& vanished) {
  return {.error = {ErrorKind::kNotFound,
                    fmt::format("the model's chat template does not use {}, so the model would "
                                "never see it; {}",
                                vanished.field, vanished.advice)},
          .field = vanished.field};
}

// The fallback joins messages: "messages[3].name" may come from "messages[4].name" of the request.
std::string field_before_fallback(const json::array& messages, const std::string& field) {
  constexpr std::string_view kPrefix = "messages[";
  if (!field.starts_with(kPrefix)) return field;
  size_t index = 0;
  const char* const end = field.data() + field.size();
  const auto [rest, error] = std::from_chars(field.data() + kPrefix.size(), end, index);
  if (error != std::errc()) return field;
  return fmt::format("{}{}{}", kPrefix, source_message(messages, index),
                     std::string_view(rest, end));
}

// Templates without a branch for null content write "None". Contents may have that word, too, so
// occurrences are counted.
size_t nones_of(const jinja::Rendered& rendered) {
  constexpr std::string_view kNone = "None";
  size_t count = 0;
  for (const jinja::Segment& segment : rendered.segments) {
    if (!segment.from_input) continue;
    for (size_t at = segment.text.find(kNone); at != std::string::npos;
         at = segment.text.find(kNone, at + kNone.size())) {
      ++count;
    }
  }
  return count;
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
      reasoning_(recognise_reasoning(template_.source())),
      tool_syntax_(recognise_tool_syntax(template_.source())) {
  const bool has_no_tools = !template_.mentions("tools");
  if (has_no_tools && tool_syntax_.form == ToolSyntax::Form::kNone)
    tool_syntax_ = generic_tool_syntax();
}

// Arguments that the template never mentions have no effect.
std::optional<Unwritable> ChatTemplate::find_unmentioned(const Conversation& conversation) const {
  for (const auto& argument : conversation.arguments) {
    const std::string_view name = argument.key();
    if (template_.mentions(name)) continue;
    return Unwritable{.error = {ErrorKind::kNotFound,
                                fmt::format("the model's chat template does not know {}; take it "
                                            "out, or use a model that has it",
                                            field_of(name))},
                      .field = field_of(name)};
  }
  return std::nullopt;
}

// The first form in which nothing vanishes. If the words of the probe cannot be rendered in any
// form, rendering the conversation itself shows why.
std::variant<MessageForm, Vanished> ChatTemplate::choose_form(const Conversation& conversation,
                                                              int64_t now_unix_s) const {
  const TemplateProbe probe(conversation);
  const std::vector<MessageForm> forms = forms_of(conversation.messages);
  std::optional<Vanished> vanished;
  std::optional<size_t> nones;  // without content that is null
  for (const MessageForm form : forms) {
    const Result<jinja::Rendered> rendered =
        render_as_given(conversation, in_form(probe.messages(), form), now_unix_s);
    if (!rendered) continue;
    if (!form.content_as_null && !nones) nones = nones_of(*rendered);
    if (form.content_as_null && nones_of(*rendered) > nones.value_or(0)) continue;
    std::optional<Vanished> missing = probe.missing_from(rendered->text());
    if (!missing) return form;
    // Another form has room for names, so a missing name is not the reason.
    if (!vanished || vanished->field.ends_with(".name")) vanished = std::move(missing);
  }
  if (vanished) return *std::move(vanished);
  return forms.front();
}

Result<jinja::Rendered> ChatTemplate::render_as_given(const Conversation& conversation,
                                                      json::array messages,
                                                      int64_t now_unix_s) const {
  // OpenAI's name for the system role is newer than most templates.
  if (!template_.mentions("developer")) {
    for (json::value& message : messages) {
      json::value& role = message.as_object()["role"];
      if (role == "developer") role = "system";
    }
  }
  // The variables of transformers; arguments of the caller override them, as there.
  json::object variables{{"messages", std::move(messages)},
                         {"add_generation_prompt", conversation.asks_for_answer},
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

std::variant<jinja::Rendered, Unwritable> ChatTemplate::render_checked(
    const Conversation& conversation, int64_t now_unix_s, const json::array* source) const {
  std::variant<MessageForm, Vanished> form = choose_form(conversation, now_unix_s);
  if (auto* vanished = std::get_if<Vanished>(&form)) {
    if (source != nullptr) vanished->field = field_before_fallback(*source, vanished->field);
    return no_place_for(*vanished);
  }
  Result<jinja::Rendered> rendered = render_as_given(
      conversation, in_form(conversation.messages, std::get<MessageForm>(form)), now_unix_s);
  if (rendered) return *std::move(rendered);
  return Unwritable{.error = rendered.error(), .field = "messages"};
}

bool ChatTemplate::writes_calls() const {
  return template_.mentions("tool_calls");
}

bool ChatTemplate::needs_fallback(const Conversation& conversation) const {
  if (template_.mentions("tools")) return false;
  return !conversation.tools.empty() ||
         (!writes_calls() && std::ranges::any_of(conversation.messages, [](const json::value& m) {
           return m.as_object().contains("tool_calls");
         }));
}

std::variant<jinja::Rendered, Unwritable> ChatTemplate::render_with_fallback(
    const Conversation& conversation, int64_t now_unix_s) const {
  const json::array no_tools;
  for (const ToolPromptRole role : {ToolPromptRole::kSystem, ToolPromptRole::kUser}) {
    const json::array messages = describe_tools_in_messages(
        conversation.messages, conversation.tools, tool_syntax_, writes_calls(), role);
    std::variant<jinja::Rendered, Unwritable> rendered =
        render_checked({.messages = messages,
                        .tools = no_tools,
                        .arguments = conversation.arguments,
                        .asks_for_answer = conversation.asks_for_answer},
                       now_unix_s);
    if (std::holds_alternative<jinja::Rendered>(rendered)) return rendered;
  }
  // The error may not be about the tools: rendering without their description shows it.
  const json::array plain = describe_tools_in_messages(
      conversation.messages, no_tools, tool_syntax_, writes_calls(), ToolPromptRole::kSystem);
  std::variant<jinja::Rendered, Unwritable> rest =
      render_checked({.messages = plain,
                      .tools = no_tools,
                      .arguments = conversation.arguments,
                      .asks_for_answer = conversation.asks_for_answer},
                     now_unix_s, &conversation.messages);
  if (std::holds_alternative<Unwritable>(rest)) return rest;
  return no_place_for(vanished_tools());
}

std::variant<jinja::Rendered, Unwritable> ChatTemplate::render(const Conversation& conversation,
                                                               int64_t now_unix_s) const {
  if (std::optional<Unwritable> missing = find_unmentioned(conversation)) {
    return *std::move(missing);
  }
  return needs_fallback(conversation) ? render_with_fallback(conversation, now_unix_s)
                                      : render_checked(conversation, now_unix_s);
}

}  // namespace windrow::chat
