#include "llm/chat_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "llm/messages_json.h"
#include "llm/tools_json.h"

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
    return bad_value(place, fmt::format("{} is not there; it must name one of the tools", place));
  }
  return read_filled_string(*given, place, name);
}

bool has_tool(const json::array& tools, std::string_view name) {
  return std::ranges::any_of(tools, [&](const json::value& tool) {
    return tool.at("function").at("name").as_string() == name;
  });
}

// A call that has to come is all of an answer, which therefore can be nothing else.
Problem find_conflict(const Request& request) {
  if (request.structured) {
    const std::string& param = request.structured->param;
    return bad_value("tool_choice",
                     fmt::format("tool_choice wants a call, and {} another form of the answer; "
                                 "take one of them out",
                                 param));
  }
  if (request.ignore_eos) {
    return bad_value("ignore_eos",
                     "ignore_eos is true beside tool_choice, which wants a call; an answer ends "
                     "behind its calls: take one of them out");
  }
  return std::nullopt;
}

Problem settle_tools(Request& request) {
  Chat& chat = request.chat;
  const ToolChoice& choice = chat.tool_choice;
  const bool wanted = choice.use == ToolUse::kRequired || choice.use == ToolUse::kNamed;
  if (choice.use == ToolUse::kNone) chat.tools.clear();
  if (!wanted) return std::nullopt;
  if (chat.tools.empty()) {
    return bad_value("tool_choice",
                     "tool_choice wants a call and there are no tools; give tools, or take it out");
  }
  if (choice.use == ToolUse::kNamed && !has_tool(chat.tools, choice.name)) {
    return bad_value(
        "tool_choice",
        fmt::format("tool_choice names \"{}\", which is none of the tools", shown(choice.name)));
  }
  return find_conflict(request);
}

}  // namespace

Problem read_chat_messages(std::string_view name, const json::value& value, Draft& draft) {
  return read_messages(name, value, draft.request.chat.messages);
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

Problem read_reasoning_effort(std::string_view name, const json::value& value, Draft& draft) {
  return read_filled_string(value, name, draft.reasoning_effort);
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

  if (draft.list_logprobs) {
    draft.request.logprobs_top = draft.top_logprobs.value_or(0);
  } else if (draft.top_logprobs.value_or(0) > 0) {
    return bad_value("top_logprobs", fmt::format("top_logprobs is {} and logprobs is not true; set "
                                                 "logprobs to true, or take top_logprobs out",
                                                 *draft.top_logprobs));
  }

  if (draft.reasoning_effort.empty()) return std::nullopt;
  json::value& effort = chat.template_arguments[kEffort];
  if (!effort.is_null() && effort != json::value(draft.reasoning_effort)) {
    return bad_value(kEffort,
                     "reasoning_effort is given in the body and in chat_template_kwargs, and they "
                     "differ; give one of them");
  }
  effort = draft.reasoning_effort;
  return std::nullopt;
}

}  // namespace windrow::llm
