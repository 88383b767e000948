// Values that a model writes between tags, without quotes, as JSON. Pure.
#pragma once

#include <string>
#include <string_view>

#include "chat/tool_table.h"

namespace windrow::chat {

// The inside of a JSON string that says `text`.
std::string in_json_string(std::string_view text);

// A whole value. Of kJson and kEither Python's True, False and None count as JSON's, because
// templates write them so; what is no JSON is a string.
std::string tagged_value_to_json(std::string_view text, ValueKind kind);

}  // namespace windrow::chat
