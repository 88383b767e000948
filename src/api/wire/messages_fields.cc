// The fields of /v1/messages.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "api/wire/body_fields.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using enum llm::FieldUse;
using llm::Problem;
using llm::shown;

Problem read_stops(std::string_view name, const json::value& value, TranslationDraft& draft) {
  if (!value.is_array()) return llm::wrong_kind(name, "an array of strings", value);
  if (!value.get_array().empty()) pass_as("stop", name, value, draft);
  return std::nullopt;
}

Problem read_messages_tool(const std::string& place, const json::value& value,
                           TranslationDraft& draft, json::array& tools) {
  ObjectReader tool;
  if (Problem problem =
          tool.open(value, place, "an object, {\"name\": ..., \"input_schema\": ...}"))
    return problem;
  if (const json::value* type = tool.take("type"); type != nullptr && *type != "custom") {
    std::string text;
    if (Problem problem = llm::read_string(*type, tool.place("type"), text)) return problem;
    return llm::unsupported(tool.place("type"),
                            fmt::format("{} is \"{}\"; only tools with an input_schema of their "
                                        "own are accepted: nothing is looked up or run here",
                                        tool.place("type"), shown(text)));
  }
  json::object function;
  std::string name;
  if (Problem problem = tool.need("name", name)) return problem;
  function["name"] = name;
  const json::value* schema = tool.take("input_schema");
  if (schema == nullptr) {
    return llm::missing_parameter(
        tool.place("input_schema"),
        fmt::format("{} has no input_schema; it must be a JSON Schema", place));
  }
  if (!schema->is_object())
    return llm::wrong_kind(tool.place("input_schema"), "a JSON Schema, which is an object",
                           *schema);
  if (const json::value* description = tool.take("description"))
    function["description"] = *description;
  function["parameters"] = *schema;
  if (const json::value* strict = tool.take("strict")) function["strict"] = *strict;
  tool.skip({"cache_control", "eager_input_streaming", "input_examples"});
  if (Problem problem = tool.rest("a tool has name, description, input_schema and strict")) {
    return problem;
  }
  Origins& origins = draft.made.origins;
  const std::string made = fmt::format("tools[{}].function", tools.size());
  origins.add(made + ".parameters", tool.place("input_schema"));
  origins.add(made, place);
  tools.emplace_back(json::object{{"type", "function"}, {"function", std::move(function)}});
  return std::nullopt;
}

Problem read_messages_tools(std::string_view name, const json::value& value,
                            TranslationDraft& draft) {
  return read_tools(name, value, "an array of tools", read_messages_tool, draft);
}

Problem read_messages_choice(std::string_view name, const json::value& value,
                             TranslationDraft& draft) {
  ObjectReader choice;
  if (Problem problem = choice.open(value, name, "an object, such as {\"type\": \"auto\"}"))
    return problem;
  std::string type;
  if (Problem problem = choice.need("type", type)) return problem;
  json::value& made = draft.made.chat[name];
  if (type == "auto" || type == "none") {
    made = type;
  } else if (type == "any") {
    made = "required";
  } else if (type == "tool") {
    std::string tool;
    if (Problem problem = choice.need("name", tool)) return problem;
    choose_function(name, tool, draft);
  } else {
    return llm::bad_value(choice.place("type"),
                          fmt::format("{} is \"{}\"; it must be auto, any, tool or none",
                                      choice.place("type"), shown(type)));
  }
  if (const json::value* alone = choice.take("disable_parallel_tool_use")) {
    bool one_at_a_time = false;
    const std::string place = choice.place("disable_parallel_tool_use");
    if (Problem problem = llm::read_bool(*alone, place, one_at_a_time)) return problem;
    draft.made.chat["parallel_tool_calls"] = !one_at_a_time;
    draft.made.origins.add("parallel_tool_calls", place);
  }
  return choice.rest("a choice has type, name and disable_parallel_tool_use");
}

// budget_tokens has no effect: a chat template can switch reasoning on or off, not bound it.
Problem read_thinking(std::string_view name, const json::value& value, TranslationDraft& draft) {
  ObjectReader thinking;
  if (Problem problem = thinking.open(value, name, "an object, such as {\"type\": \"disabled\"}"))
    return problem;
  std::string type;
  if (Problem problem = thinking.need("type", type)) return problem;
  if (type != "enabled" && type != "disabled" && type != "adaptive") {
    return llm::bad_value(thinking.place("type"),
                          fmt::format("{} is \"{}\"; it must be enabled, disabled or adaptive",
                                      thinking.place("type"), shown(type)));
  }
  if (type != "adaptive") draft.made.wishes["enable_thinking"] = type == "enabled";
  thinking.skip({"budget_tokens"});
  const json::value* display = thinking.take("display");
  if (display != nullptr && *display != "summarized") {
    return llm::unsupported(thinking.place("display"),
                            "thinking.display must be \"summarized\", or absent: thoughts are "
                            "shown as they are; take thinking.display out");
  }
  return thinking.rest("thinking has type, budget_tokens and display");
}

Problem read_output_config(std::string_view name, const json::value& value,
                           TranslationDraft& draft) {
  ObjectReader config;
  if (Problem problem = config.open(value, name, "an object with a format")) return problem;
  if (const json::value* effort = config.take("effort")) {
    if (Problem problem = wish_effort(config.place("effort"), *effort, draft)) return problem;
  }
  if (const json::value* given = config.take("format")) {
    const std::string place = config.place("format");
    ObjectReader format;
    if (Problem problem = format.open(
            *given, place, "an object, {\"type\": \"json_schema\", \"schema\": {...}}")) {
      return problem;
    }
    std::string type;
    if (Problem problem = format.need("type", type)) return problem;
    if (type != "json_schema") {
      return llm::unsupported(format.place("type"),
                              fmt::format("{} is \"{}\"; it must be \"json_schema\"",
                                          format.place("type"), shown(type)));
    }
    json::object made{{"name", "answer"}};
    if (const json::value* schema = format.take("schema")) made["schema"] = *schema;
    if (Problem problem = format.rest("a format has type and schema")) return problem;
    draft.made.chat["response_format"] = {{"type", "json_schema"}, {"json_schema", made}};
    draft.made.origins.add("response_format", place);
    draft.made.origins.add("response_format.json_schema", place);
  }
  return config.rest("output_config has format and effort");
}

Problem read_messages_metadata(std::string_view name, const json::value& value,
                               TranslationDraft& draft) {
  ObjectReader metadata;
  if (Problem problem = metadata.open(value, name, "an object with a user_id")) return problem;
  if (const json::value* user = metadata.take("user_id"))
    pass_as("user", metadata.place("user_id"), *user, draft);
  return metadata.rest("metadata has user_id");
}

// Anthropic's name for the default tier.
Problem read_messages_tier(std::string_view name, const json::value& value,
                           TranslationDraft& draft) {
  draft.made.chat[name] = value == "standard_only" ? json::value("default") : value;
  return std::nullopt;
}

constexpr auto kMessagesFields = std::to_array<TranslatedField>({
    {{"model", kHonoured, "a string", ""}, pass_on},
    {{"system", kHonoured, "a string, or text blocks", ""}, read_system},
    {{"messages", kHonoured,
      "an array of {role, content}; content is a string or blocks: text, tool_use, tool_result "
      "(`is_error` without effect: the content says it), thinking; redacted_thinking is left out",
      ""},
     read_turns},
    {{"max_tokens", kHonoured, "1 and more", ""}, pass_on},
    {{"stop_sequences", kHonoured, "an array of at most 16 strings", ""}, read_stops},
    {{"temperature", kHonoured, "0 to 2; 0 is greedy", ""}, pass_on},
    {{"top_p", kHonoured, "above 0, to 1", ""}, pass_on},
    {{"top_k", kHonoured, "1 and more; 0 or -1 for all", ""}, pass_on},
    {{"tools", kHonoured, "an array of {name, description, input_schema, strict}", ""},
     read_messages_tools},
    {{"tool_choice", kHonoured,
      "`type` auto, any, tool (with `name`) or none; `disable_parallel_tool_use`", ""},
     read_messages_choice},
    {{"thinking", kHonoured,
      "`type` enabled or disabled: `enable_thinking` where the model's template knows that, else "
      "without effect; adaptive: as the effort says, or the template's default; `budget_tokens` "
      "without effect",
      ""},
     read_thinking},
    {{"output_config", kHonoured,
      "`format` of type json_schema; `effort`: as `reasoning_effort` of a chat", ""},
     read_output_config},
    {{"stream", kHonoured, "true or false", ""}, pass_on},
    {{"service_tier", kHonoured,
      "\"auto\", \"standard_only\"; \"flex\" or \"priority\" as of a chat", ""},
     read_messages_tier},
    {{"priority", kHonoured, kAsOfChat, ""}, pass_on},
    {{"seed", kHonoured, kAsOfChat, ""}, pass_on},
    {{"min_p", kHonoured, kAsOfChat, ""}, pass_on},
    {{"presence_penalty", kHonoured, kAsOfChat, ""}, pass_on},
    {{"frequency_penalty", kHonoured, kAsOfChat, ""}, pass_on},
    {{"repetition_penalty", kHonoured, kAsOfChat, ""}, pass_on},
    {{"logit_bias", kHonoured, kAsOfChat, ""}, pass_on},
    {{"chat_template_kwargs", kHonoured, kAsOfChat, ""}, pass_on},

    {{"metadata", kWithoutEffect, "`user_id`", ""}, read_messages_metadata},
    {{"cache_control", kWithoutEffect,
      "anything, also of blocks and tools: what prompts have in common is shared anyway", ""},
     ignore_field},
    {{"context_management", kWithoutEffect, "anything: nothing is cut from a conversation", ""},
     ignore_field},

    {{"thread", kRefused, "", "no state is kept; send the whole conversation in messages"}},
    {{"container", kRefused, "", "nothing is run here"}},
    {{"inference_geo", kRefused, "", "it is computed where this server is"}},
    {{"mcp_servers", kRefused, "[]", "nothing is asked elsewhere; give tools"}},
    {{"speed", kRefused, "\"standard\"", "give service_tier, or the header X-Windrow-Priority"}},
    {{"output_format", kRefused, "", "give output_config.format"}},
    {{"response_format", kRefused, "", "give output_config.format"}},
    {{"stop", kRefused, "", "stop_sequences is its name here"}},
    {{"n", kRefused, "1", "a message has one answer"}},
    {{"logprobs", kRefused, "false", "a message has no place for them; /v1/chat/completions has"}},
});

Problem need(const json::object& body, std::string_view name) {
  const json::value* value = body.if_contains(name);
  if (value != nullptr && !value->is_null()) return std::nullopt;
  return llm::missing_parameter(name,
                                fmt::format("the body has no {}, which /v1/messages needs", name));
}

}  // namespace

std::span<const TranslatedField> messages_fields() {
  return kMessagesFields;
}

Problem settle_messages(const json::object& body, TranslationDraft& draft) {
  if (Problem problem = need(body, "messages")) return problem;
  return draft.context.counts_only ? std::nullopt : need(body, "max_tokens");
}

}  // namespace windrow::api
