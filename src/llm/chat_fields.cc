#include "llm/chat_fields.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>

#include "llm/messages_json.h"
#include "llm/tools_json.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

constexpr std::string_view kEffort = "reasoning_effort";

}  // namespace

Problem read_chat_messages(std::string_view name, const json::value& value, Draft& draft) {
  return read_messages(name, value, draft.request.chat.messages);
}

Problem read_chat_tools(std::string_view name, const json::value& value, Draft& draft) {
  return read_tools(name, value, draft.request.chat.tools);
}

Problem read_tool_choice(std::string_view name, const json::value& value, Draft& draft) {
  const json::string* choice = value.if_string();
  if (choice != nullptr && (*choice == "auto" || *choice == "none")) {
    draft.leave_out_tools = *choice == "none";
    return std::nullopt;
  }
  if (choice == nullptr && !value.is_object()) {
    return wrong_kind(name, "\"auto\" or \"none\"", value);
  }
  return unsupported(
      name, fmt::format("{} is {}; only \"auto\" and \"none\" are accepted, because a call of a "
                        "tool cannot be enforced",
                        name,
                        choice != nullptr ? fmt::format("\"{}\"", shown(*choice))
                                          : "an object that names a tool"));
}

Problem read_parallel_tool_calls(std::string_view name, const json::value& value, Draft& draft) {
  return read_bool(value, name, draft.parallel_tool_calls);
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
  if (draft.leave_out_tools) chat.tools.clear();
  if (!draft.parallel_tool_calls && !chat.tools.empty()) {
    return unsupported("parallel_tool_calls",
                       "parallel_tool_calls is false and there are tools; it must be true, because "
                       "one call at a time cannot be enforced");
  }

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
