// What a simulated model says when it is asked to call tools, so that clients can be tried: the
// last message of the user is
//
//   call NAME {"a": 1}
//   call OTHER
//
// and each line becomes one call. What stands behind a name is written as calls are, with a blank
// behind each comma and colon, as far as the tool and its schema let it; what is no JSON as it is.
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace windrow::engine::sim {

// With this such a message begins.
inline constexpr std::string_view kCallWord = "call ";

// The answer to it; empty when a line asks for something else.
std::string calls_asked_for(std::string_view message);

}  // namespace windrow::engine::sim
