// For models whose chat template knows nothing of tools: the same conversation without them, in
// which the tools are described, and calls and their results are what was said. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <cstdint>

#include "chat/tool_syntax.h"

namespace windrow::chat {

enum class ToolsToldBy : uint8_t {
  kSystem,  // behind what the system message says; one is put in front where there is none
  kUser,    // in front of what the first user says, for templates without a place for a system
};

// `syntax` has a form. Calls become text as a model would write them, or stay where the template
// writes them itself (`writes_calls`); results become messages of the user, those of one turn
// together.
boost::json::array tell_tools(const boost::json::array& messages, const boost::json::array& tools,
                              const ToolSyntax& syntax, bool writes_calls, ToolsToldBy by);

// Which of `messages` becomes, or begins, the message `told` where there are no tools to describe.
size_t told_from(const boost::json::array& messages, size_t told);

}  // namespace windrow::chat
