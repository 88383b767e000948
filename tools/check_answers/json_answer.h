// The value that an answer stands for.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string_view>

namespace windrow::check_answers {

// Without blanks around it.
std::string_view trimmed(std::string_view text);

// Nothing when the answer is no JSON. The marks <tool_call> and </tool_call> around it mean
// nothing.
std::optional<boost::json::value> json_of(std::string_view answer);

}  // namespace windrow::check_answers
