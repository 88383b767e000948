// The messages and tools of a chat, checked and brought into one form for chat templates. Pure; any
// thread. Each function returns what is wrong, or nothing and has filled its last argument.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "llm/field_values.h"

namespace windrow::llm {

// Messages: `content` becomes a string, text parts joined; arguments of tool calls an object or the
// text of one; reasoning `reasoning_content`.
Problem read_messages(std::string_view name, const boost::json::value& value,
                      boost::json::array& messages);

// Tools: checked in what every template and every tool-call format relies on - a type, a name that
// can stand in a call, parameters that are a schema - and for unknown members; passed on unchanged.
Problem read_tools(std::string_view name, const boost::json::value& value,
                   boost::json::array& tools);

// The calls of an assistant message. OpenAI has their arguments as a string of JSON; some templates
// want that and most want the object it holds. Which one a template wants is seen when it runs.
Problem read_tool_calls(std::string_view name, const boost::json::value& value,
                        boost::json::array& calls);

}  // namespace windrow::llm
