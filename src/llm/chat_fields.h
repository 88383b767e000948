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
Problem read_reasoning_effort(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_logprobs_switch(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_top_logprobs(std::string_view name, const boost::json::value& value, Draft& draft);

Problem settle_chat(Draft& draft);

}  // namespace windrow::llm
