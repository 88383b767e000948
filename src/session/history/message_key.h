// MessageKey: when two messages of a chat count as the same. An agent sends the whole conversation
// with each turn, so what it sends is compared with what the session has. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/hash.h"

namespace windrow::session {

// Each rule accepts all that the one before it accepts. Of every rule, absent, null, "" and [] are
// one value, and members of a message that it does not name are not compared. Values are compared
// as JSON (canonical_json.h). So true and 1 differ, which the trainers' reference server holds
// equal where its rules compare values of Python.
enum class MatchRule : uint8_t {
  kStrict,          // role, content, reasoning_content, tool_calls but for their `index`
  kLooseToolCalls,  // the same, but arguments of calls that are equal as JSON objects are equal
  kRoleAndContent,  // role and content
};

// "strict", "loose_tool_call", "role_content_only".
std::string_view to_string(MatchRule rule);
std::optional<MatchRule> match_rule_of(std::string_view name);

// Equal for messages that count as the same, and only for these.
using MessageKey = Hash128;
MessageKey key_of(const boost::json::object& message, MatchRule rule);

}  // namespace windrow::session
