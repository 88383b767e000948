// The messages of a chat, checked and in the one form a template is given: content a string or
// null, arguments of tool calls as objects, thoughts as `reasoning_content`.
#pragma once

#include <boost/json/array.hpp>

#include "llm/json_values.h"

namespace windrow::llm {

Problem read_messages(std::string_view name, const boost::json::value& value,
                      boost::json::array& messages);

}  // namespace windrow::llm
