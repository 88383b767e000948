// The fields of /v1/responses.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "api/wire/body_fields.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using enum llm::FieldUse;
using llm::Problem;
using llm::shown;

Problem read_instructions(std::string_view name, const json::value& value,
                          TranslationDraft& draft) {
  std::string text;
  if (Problem problem = llm::read_string(value, name, text)) return problem;
  draft.made.echo["instructions"] = value;
  // Clients without instructions send an empty text, perhaps with a system message in the input.
  if (!text.empty()) draft.add_message({{"role", "system"}, {"content", text}}, name);
  return std::nullopt;
}

Problem read_previous(std::string_view name, const json::value& value, TranslationDraft& draft) {
  if (Problem problem = llm::read_filled_string(value, name, draft.made.turn.previous_id))
    return problem;
  if (draft.context.earlier == nullptr) {
    return llm::unsupported(name, fmt::format("{} is not supported in batches: no responses are "
                                              "kept for them; send the whole conversation in input",
                                              name));
  }
  draft.made.echo[name] = value;
  return std::nullopt;
}

// The default is true; settle_responses() decides.
Problem read_store(std::string_view name, const json::value& value, TranslationDraft& draft) {
  return llm::read_bool(value, name, draft.stores);
}

Problem read_output_tokens(std::string_view name, const json::value& value,
                           TranslationDraft& draft) {
  draft.made.echo[name] = value;
  pass_as("max_completion_tokens", name, value, draft);
  return std::nullopt;
}

Problem read_top_logprobs(std::string_view name, const json::value& value,
                          TranslationDraft& draft) {
  draft.made.echo[name] = value;
  return pass_on(name, value, draft);
}

Problem read_include(std::string_view name, const json::value& value, TranslationDraft& draft) {
  const json::array* wanted = value.if_array();
  if (wanted == nullptr) return llm::wrong_kind(name, "an array of strings", value);
  for (size_t i = 0; i < wanted->size(); ++i) {
    const std::string place = fmt::format("{}[{}]", name, i);
    std::string one;
    if (Problem problem = llm::read_string((*wanted)[i], place, one)) return problem;
    if (one == "message.output_text.logprobs") {
      draft.lists_logprobs = true;
    } else if (one != "reasoning.encrypted_content") {
      // Clients send reasoning back in plain text, so it need not be encrypted.
      return llm::unsupported(place, fmt::format("{} is \"{}\"; only message.output_text.logprobs "
                                                 "can be included",
                                                 place, shown(one)));
    }
  }
  return std::nullopt;
}

// {"type", "name", "schema", "strict", "description"}: one level flatter than a chat's.
Problem read_format(const std::string& place, const json::value& value, TranslationDraft& draft) {
  const json::object* object = value.if_object();
  if (object == nullptr)
    return llm::wrong_kind(place, "an object, such as {\"type\": \"json_object\"}", value);
  Origins& origins = draft.made.origins;
  origins.add("response_format", place);
  const json::value* type = object->if_contains("type");
  if (type == nullptr || *type != "json_schema") {
    draft.made.chat["response_format"] = value;
    return std::nullopt;
  }
  json::object format = *object;
  format.erase("type");
  draft.made.chat["response_format"] = {{"type", "json_schema"}, {"json_schema", format}};
  origins.add("response_format.json_schema", place);
  return std::nullopt;
}

Problem read_text(std::string_view name, const json::value& value, TranslationDraft& draft) {
  ObjectReader text;
  if (Problem problem = text.open(value, name, "an object with a format")) return problem;
  if (const json::value* format = text.take("format")) {
    if (Problem problem = read_format(text.place("format"), *format, draft)) return problem;
  }
  // Medium is the default.
  const json::value* verbosity = text.take("verbosity");
  if (verbosity != nullptr && *verbosity != "medium")
    pass_as("verbosity", text.place("verbosity"), *verbosity, draft);
  draft.made.echo[name] = value;
  return text.rest("text has format and verbosity");
}

Problem read_responses_tool(const std::string& place, const json::value& value,
                            TranslationDraft& draft, json::array& tools) {
  ObjectReader tool;
  if (Problem problem = tool.open(
          value, place, "an object, {\"type\": \"function\", \"name\": ..., \"parameters\": ...}"))
    return problem;
  std::string type;
  if (Problem problem = tool.need("type", type)) return problem;
  if (type != "function") {
    return llm::unsupported(tool.place("type"),
                            fmt::format("{} is \"{}\"; only \"function\" is accepted: nothing is "
                                        "looked up or run here",
                                        tool.place("type"), shown(type)));
  }
  json::object function;
  std::string name;
  if (Problem problem = tool.need("name", name)) return problem;
  function["name"] = name;
  for (const std::string_view member : {"description", "parameters", "strict"}) {
    if (const json::value* given = tool.take(member)) function[member] = *given;
  }
  if (Problem problem =
          tool.rest("a function has type, name, description, parameters and strict")) {
    return problem;
  }
  const std::string made = fmt::format("tools[{}]", tools.size());
  draft.made.origins.add(made + ".function", place);
  tools.emplace_back(json::object{{"type", "function"}, {"function", std::move(function)}});
  return std::nullopt;
}

Problem read_responses_tools(std::string_view name, const json::value& value,
                             TranslationDraft& draft) {
  draft.made.echo[name] = value;
  return read_tools(name, value, "an array of functions", read_responses_tool, draft);
}

// The value is "auto", or {"type": "function", "name": ...}.
Problem read_responses_choice(std::string_view name, const json::value& value,
                              TranslationDraft& draft) {
  draft.made.echo[name] = value;
  const json::object* object = value.if_object();
  if (object == nullptr) return pass_on(name, value, draft);
  ObjectReader choice(std::string(name), *object);
  std::string type;
  std::string function;
  if (Problem problem = choice.need("type", type)) return problem;
  if (type != "function") {
    return llm::unsupported(
        choice.place("type"),
        fmt::format("{} is \"{}\"; it must be \"function\", or {} one of \"auto\", \"none\" and "
                    "\"required\"",
                    choice.place("type"), shown(type), name));
  }
  if (Problem problem = choice.need("name", function)) return problem;
  if (Problem problem = choice.rest("a choice has type and name")) return problem;
  choose_function(name, function, draft);
  return std::nullopt;
}

Problem read_parallel(std::string_view name, const json::value& value, TranslationDraft& draft) {
  bool parallel = true;
  if (Problem problem = llm::read_bool(value, name, parallel)) return problem;
  draft.made.echo[name] = value;
  return pass_on(name, value, draft);
}

// `summary` has no effect: reasoning is returned in full.
Problem read_reasoning(std::string_view name, const json::value& value, TranslationDraft& draft) {
  ObjectReader reasoning;
  if (Problem problem = reasoning.open(value, name, "an object with an effort")) return problem;
  if (const json::value* effort = reasoning.take("effort")) {
    if (Problem problem = wish_effort(reasoning.place("effort"), *effort, draft)) return problem;
    draft.made.echo[name] = {{"effort", *effort}, {"summary", nullptr}};
  }
  reasoning.skip({"summary", "generate_summary"});
  return reasoning.rest("reasoning has effort and summary");
}

// For the client: the answer repeats it.
Problem read_responses_metadata(std::string_view name, const json::value& value,
                                TranslationDraft& draft) {
  const json::object* object = value.if_object();
  if (object == nullptr) return llm::wrong_kind(name, "an object of strings", value);
  for (const auto& [key, member] : *object) {
    if (member.is_string()) continue;
    const std::string place = fmt::format("{}.{}", name, shown(std::string_view(key)));
    return llm::wrong_kind(place, "a string", member);
  }
  draft.made.echo[name] = value;
  return std::nullopt;
}

Problem echo(std::string_view name, const json::value& value, TranslationDraft& draft) {
  draft.made.echo[name] = value;
  return std::nullopt;
}

Problem echo_and_pass_on(std::string_view name, const json::value& value, TranslationDraft& draft) {
  draft.made.echo[name] = value;
  return pass_on(name, value, draft);
}

constexpr auto kResponsesFields = std::to_array<TranslatedField>({
    {{"model", kHonoured, "a string", ""}, pass_on},
    {{"instructions", kHonoured, "a string, which goes before the input", ""}, read_instructions},
    {{"previous_response_id", kHonoured,
      "the id of a response that is kept: its conversation goes before the input", ""},
     read_previous},
    {{"input", kHonoured,
      "a string, or items: message with texts, function_call, function_call_output, reasoning, "
      "item_reference",
      ""},
     read_input},
    {{"max_output_tokens", kHonoured, "1 and more", ""}, read_output_tokens},
    {{"temperature", kHonoured, "0 to 2; 0 is greedy", ""}, pass_on},
    {{"top_p", kHonoured, "above 0, to 1", ""}, pass_on},
    {{"text", kHonoured,
      "`format` of type text, json_schema or json_object; `verbosity` without effect: ask for it "
      "in "
      "the input",
      ""},
     read_text},
    {{"tools", kHonoured, "functions: {\"type\": \"function\", \"name\", \"parameters\", ...}", ""},
     read_responses_tools},
    {{"tool_choice", kHonoured,
      "\"auto\", \"none\", \"required\" or {\"type\": \"function\", \"name\"}", ""},
     read_responses_choice},
    {{"parallel_tool_calls", kHonoured, "true or false", ""}, read_parallel},
    {{"include", kHonoured,
      "message.output_text.logprobs; reasoning.encrypted_content adds nothing, thoughts are sent "
      "as they are",
      ""},
     read_include},
    {{"top_logprobs", kHonoured, "0 to 20, with the logprobs included", ""}, read_top_logprobs},
    {{"reasoning", kHonoured,
      "`effort`: as `reasoning_effort` of a chat; `summary` without effect: thoughts come as they "
      "are",
      ""},
     read_reasoning},
    {{"metadata", kHonoured, "an object of strings, which the answer repeats", ""},
     read_responses_metadata},
    {{"stream", kHonoured, "true or false", ""}, pass_on},
    {{"store", kHonoured,
      "true, which it is, or false: whether the response is kept for later turns; the answer says "
      "what was done",
      ""},
     read_store},
    {{"service_tier", kHonoured, "\"auto\", \"default\", \"flex\" or \"priority\"", ""}, pass_on},
    {{"priority", kHonoured, kAsOfChat, ""}, pass_on},
    {{"seed", kHonoured, kAsOfChat, ""}, pass_on},
    {{"stop", kHonoured, kAsOfChat, ""}, pass_on},
    {{"top_k", kHonoured, kAsOfChat, ""}, pass_on},
    {{"min_p", kHonoured, kAsOfChat, ""}, pass_on},
    {{"presence_penalty", kHonoured, kAsOfChat, ""}, pass_on},
    {{"frequency_penalty", kHonoured, kAsOfChat, ""}, pass_on},
    {{"repetition_penalty", kHonoured, kAsOfChat, ""}, pass_on},
    {{"logit_bias", kHonoured, kAsOfChat, ""}, pass_on},
    {{"chat_template_kwargs", kHonoured, kAsOfChat, ""}, pass_on},

    {{"user", kWithoutEffect, "anything; the answer repeats it", ""}, echo_and_pass_on},
    {{"safety_identifier", kWithoutEffect, "anything; the answer repeats it", ""}, echo},
    {{"prompt_cache_key", kWithoutEffect, "anything; the answer repeats it", ""}, echo},
    {{"prompt_cache_retention", kWithoutEffect, "anything", ""}, ignore_field},
    {{"prompt_cache_options", kWithoutEffect, "anything", ""}, ignore_field},
    {{"stream_options", kWithoutEffect, "anything", ""}, ignore_field},
    {{"client_metadata", kWithoutEffect, "anything: what a client tells of itself", ""},
     ignore_field},

    {{"truncation", kRefused, "\"disabled\"", "what is too long fails; cut it before"}},
    {{"conversation", kRefused, "",
      "there are no conversations here; give previous_response_id, or send all of it in input"}},
    {{"background", kRefused, "false", "an answer is made while its client waits for it"}},
    {{"prompt", kRefused, "", "no prompt is stored here; write it into instructions and input"}},
    {{"max_tool_calls", kRefused, "", "it counts calls of tools that run at a server; none does"}},
    {{"context_management", kRefused, "[]", "nothing is cut from a conversation"}},
    {{"moderation", kRefused, "", "nothing is moderated here"}},
    {{"max_tokens", kRefused, "", "max_output_tokens is its name here"}},
    {{"messages", kRefused, "", "input is its name here"}},
    {{"response_format", kRefused, "", "give text.format"}},
    {{"reasoning_effort", kRefused, "", "give reasoning.effort"}},
});

}  // namespace

std::span<const TranslatedField> responses_fields() {
  return kResponsesFields;
}

Problem settle_responses(const json::object& body, TranslationDraft& draft) {
  const json::value* input = body.if_contains("input");
  if (input == nullptr || input->is_null()) {
    return llm::missing_parameter("input", "the body has no input, which /v1/responses needs");
  }
  const EarlierItems* earlier = draft.context.earlier;
  draft.made.turn.store = draft.stores && earlier != nullptr && earlier->keeps();
  draft.made.echo["store"] = draft.made.turn.store;
  if (draft.lists_logprobs) {
    draft.made.chat["logprobs"] = true;
  } else if (const json::value* top = draft.made.chat.if_contains("top_logprobs")) {
    if (*top != 0) {
      return llm::bad_value("top_logprobs",
                            "top_logprobs is given and logprobs are not included; add "
                            "message.output_text.logprobs to include, or take top_logprobs out");
    }
  }
  return std::nullopt;
}

}  // namespace windrow::api
