// JSON whose numbers are read exactly: each fraction becomes the double that is nearest to what is
// written. The library's own parser is a bit off in the last digits, and a trainer compares
// log-probabilities bit by bit. Pure; any thread.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace windrow::session {

// The value, nested at most kJsonDepthMax deep; or why the text is none, with the byte.
std::variant<boost::json::value, std::string> parse_exact_json(std::string_view text);

}  // namespace windrow::session
