// For models whose chat template knows nothing of tools: the same conversation as plain messages,
// in which a text describes the tools, and calls and their results are content. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <cstdint>

#include "chat/tool_syntax.h"

namespace windrow::chat {

// The message that describes the tools.
enum class ToolPromptRole : uint8_t {
  kSystem,  // at the end of the system message, which is added if there is none
  kUser,    // at the beginning of the first user message, for templates without a system role
};

// Rewrites `messages`. `syntax` has a form; calls become text in it, or stay as they are if the
// template writes them itself (`writes_calls`). Results become user messages; those of one turn are
// joined.
boost::json::array describe_tools_in_messages(const boost::json::array& messages,
                                              const boost::json::array& tools,
                                              const ToolSyntax& syntax, bool writes_calls,
                                              ToolPromptRole role);

// The index of the first of `messages` that becomes part of the rewritten message `rewritten`, when
// there are no tools to describe.
size_t source_message(const boost::json::array& messages, size_t rewritten);

}  // namespace windrow::chat
