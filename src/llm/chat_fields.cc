#include "llm/request_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <limits>
#include <utility>

namespace windrow::llm {

namespace json = boost::json;

namespace {

constexpr std::string_view kEffort = "reasoning_effort";
constexpr std::string_view kChoices =
    "\"auto\", \"none\", \"required\" or {\"type\": \"function\", \"function\": {\"name\": ...}}";

// {"type": "function", "function": {"name": ...}}
Problem read_named_tool(std::string_view param, const json::object& choice, std::string& name) {
  const json::value* type = choice.if_contains("type");
  if (type != nullptr && *type == "allowed_tools") {
    return unsupported(param, fmt::format("{} of the type allowed_tools is not supported; give "
                                          "only the tools that may be called in tools",
                                          param));
  }
  if (type == nullptr || *type != "function") {
    return bad_value(fmt::format("{}.type", param),
                     fmt::format("{0} is an object; {0}.type must be \"function\"", param));
  }
  const json::value* function = choice.if_contains("function");
  const json::value* given = function == nullptr || !function->is_object()
                                 ? nullptr
                                 : function->get_object().if_contains("name");
  const std::string place = fmt::format("{}.function.name", param);
  if (given == nullptr) {
    return bad_value(place, fmt::format("{} is missing; it must name one of the tools", place));
  }
  return read_filled_string(*given, place, name);
}

bool has_tool(const json::array& tools, std::string_view name) {
  return std::ranges::any_of(tools, [&](const json::value& tool) {
    return tool.at("function").at("name").as_string() == name;
  });
}

Problem settle_tools(Request& request) {
  Chat& chat = request.chat;
  const ToolChoice& choice = chat.tool_choice;
  if (choice.use == ToolUse::kNone) chat.tools.clear();
  if (!has_to_call(choice)) return std::nullopt;
  if (chat.tools.empty()) {
    return bad_value("tool_choice",
                     "tool_choice wants a call and there are no tools; give tools, or take it out");
  }
  if (choice.use == ToolUse::kNamed && !has_tool(chat.tools, choice.name)) {
    return bad_value(
        "tool_choice",
        fmt::format("tool_choice names \"{}\", which is none of the tools", shown(choice.name)));
  }
  if (request.ignore_eos) {
    return bad_value("ignore_eos",
                     "ignore_eos is true beside tool_choice, which wants a call; an answer ends "
                     "behind its calls: take one of them out");
  }
  // A required call is the whole answer. The format of its text does not matter then.
  request.structured.reset();
  return std::nullopt;
}

Problem settle_reasoning_limit(const Request& request) {
  if (!request.reasoning_tokens_max || request.structured) return std::nullopt;
  if (has_to_call(request.chat.tool_choice)) return std::nullopt;
  return unsupported("max_reasoning_tokens",
                     "max_reasoning_tokens is only supported beside response_format or a "
                     "tool_choice that wants a call; take it out, or lower max_tokens");
}

}  // namespace

Problem read_chat_messages(std::string_view name, const json::value& value, Draft& draft) {
  return read_messages(name, value, draft.request.chat.messages);
}

Problem read_chat_tokens(std::string_view name, const json::value& value, Draft& draft) {
  return read_token_ids(name, value, draft.request.chat_tokens);
}

Problem read_chat_tools(std::string_view name, const json::value& value, Draft& draft) {
  return read_tools(name, value, draft.request.chat.tools);
}

Problem read_tool_choice(std::string_view name, const json::value& value, Draft& draft) {
  ToolChoice& choice = draft.request.chat.tool_choice;
  if (const json::string* word = value.if_string()) {
    if (*word == "auto") {
      choice.use = ToolUse::kAuto;
    } else if (*word == "none") {
      choice.use = ToolUse::kNone;
    } else if (*word == "required") {
      choice.use = ToolUse::kRequired;
    } else {
      return bad_value(name,
                       fmt::format("{} is \"{}\"; it must be {}", name, shown(*word), kChoices));
    }
    return std::nullopt;
  }
  if (!value.is_object()) return wrong_kind(name, kChoices, value);
  choice.use = ToolUse::kNamed;
  return read_named_tool(name, value.get_object(), choice.name);
}

Problem read_parallel_tool_calls(std::string_view name, const json::value& value, Draft& draft) {
  return read_bool(value, name, draft.request.chat.tool_choice.parallel);
}

Problem read_template_arguments(std::string_view name, const json::value& value, Draft& draft) {
  const json::object* arguments = value.if_object();
  if (arguments == nullptr) {
    return wrong_kind(name, "an object, such as {\"enable_thinking\": false}", value);
  }
  struct Own {
    std::string_view name;
    std::string_view why;
  };
  for (const Own& own :
       {Own{"messages", "it would replace what the body has; give it there"},
        Own{"tools", "it would replace what the body has; give it there"},
        Own{"add_generation_prompt", "a chat is always answered"},
        Own{"bos_token", "the model's own is used"}, Own{"eos_token", "the model's own is used"}}) {
    const json::value* given = arguments->if_contains(own.name);
    if (given == nullptr) continue;
    if (own.name == "add_generation_prompt" && *given == json::value(true)) continue;
    return bad_value(fmt::format("{}.{}", name, own.name),
                     fmt::format("{}.{} is not accepted: {}", name, own.name, own.why));
  }
  draft.request.chat.template_arguments = *arguments;
  return std::nullopt;
}

Problem read_effort(const json::value& value, std::string_view param, std::string& effort) {
  constexpr std::array<std::string_view, 7> kEfforts = {"none", "minimal", "low", "medium",
                                                        "high", "xhigh",   "max"};
  std::string given;
  if (Problem problem = read_string(value, param, given)) return problem;
  if (std::ranges::find(kEfforts, given) == kEfforts.end()) {
    return bad_value(param,
                     fmt::format("{} is \"{}\"; it must be none, minimal, low, medium, high, "
                                 "xhigh or max",
                                 param, shown(given)));
  }
  effort = std::move(given);
  return std::nullopt;
}

Problem read_max_reasoning_tokens(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 0, std::numeric_limits<int32_t>::max(),
                    draft.request.reasoning_tokens_max.emplace());
}

Problem read_reasoning_effort(std::string_view name, const json::value& value, Draft& draft) {
  return read_effort(value, name, draft.reasoning_effort);
}

Problem read_logprobs_switch(std::string_view name, const json::value& value, Draft& draft) {
  return read_bool(value, name, draft.list_logprobs);
}

Problem read_top_logprobs(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 0, kTopLogprobsMax, draft.top_logprobs.emplace());
}

Problem settle_chat(Draft& draft) {
  Chat& chat = draft.request.chat;
  if (Problem problem = settle_tools(draft.request)) return problem;
  if (Problem problem = settle_reasoning_limit(draft.request)) return problem;

  if (draft.list_logprobs) {
    draft.request.logprobs_top = draft.top_logprobs.value_or(0);
  } else if (draft.top_logprobs.value_or(0) > 0) {
    return bad_value("top_logprobs", fmt::format("top_logprobs is {} and logprobs is not true; set "
                                                 "logprobs to true, or take top_logprobs out",
                                                 *draft.top_logprobs));
  }

  if (draft.reasoning_effort.empty()) return std::nullopt;
  const json::value* argument = chat.template_arguments.if_contains(kEffort);
  if (argument != nullptr && !argument->is_null() &&
      *argument != json::value(draft.reasoning_effort)) {
    return bad_value(kEffort,
                     "reasoning_effort is given in the body and in chat_template_kwargs, and they "
                     "differ; give one of them");
  }
  chat.wishes[kEffort] = draft.reasoning_effort;
  return std::nullopt;
}

}  // namespace windrow::llm
