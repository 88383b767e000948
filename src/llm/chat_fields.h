// Fields that only /v1/chat/completions has.
#pragma once

#include "llm/draft.h"

namespace windrow::llm {

Problem read_chat_messages(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_chat_tools(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_tool_choice(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_parallel_tool_calls(std::string_view name, const boost::json::value& value,
                                 Draft& draft);
Problem read_template_arguments(std::string_view name, const boost::json::value& value,
                                Draft& draft);
// How much a model should think, in whichever API's words: what it accepts, as documents say it.
inline constexpr std::string_view kEffortValues =
    "\"none\", \"minimal\", \"low\", \"medium\", \"high\", \"xhigh\" or \"max\": the template's "
    "argument of the name reasoning_effort, and its enable_thinking (off with none); without "
    "effect "
    "where the template knows neither";
Problem read_effort(const boost::json::value& value, std::string_view param, std::string& effort);

Problem read_max_reasoning_tokens(std::string_view name, const boost::json::value& value,
                                  Draft& draft);
Problem read_reasoning_effort(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_logprobs_switch(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_top_logprobs(std::string_view name, const boost::json::value& value, Draft& draft);

Problem settle_chat(Draft& draft);

}  // namespace windrow::llm
