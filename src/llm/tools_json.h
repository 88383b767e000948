// Tools as a request describes them, and the calls of them in earlier answers.
#pragma once

#include <boost/json/array.hpp>

#include "llm/json_values.h"

namespace windrow::llm {

// Checked in what every template and every family's calls rely on - a type, a name that can stand
// in a call, parameters that are a schema - and for members that nobody would read; passed on as
// they are.
Problem read_tools(std::string_view name, const boost::json::value& value,
                   boost::json::array& tools);

// The calls of an assistant message. OpenAI has their arguments as a string of JSON; some templates
// want that and most the object that it stands for. Which it is, is seen where there is a template.
Problem read_tool_calls(std::string_view name, const boost::json::value& value,
                        boost::json::array& calls);

}  // namespace windrow::llm
