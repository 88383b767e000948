// The messages of a chat, checked and in one form: content a string, arguments of tool calls an
// object or the text of one, thoughts as `reasoning_content`.
#pragma once

#include <boost/json/array.hpp>

#include "llm/json_values.h"

namespace windrow::llm {

Problem read_messages(std::string_view name, const boost::json::value& value,
                      boost::json::array& messages);

}  // namespace windrow::llm
