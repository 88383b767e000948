// Which conversations of a tree become samples. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "session/history/turn_path.h"

namespace windrow::session {

// What replaces the last turn of a conversation, so that the conversation is left out.
enum class RetryRule : uint8_t {
  kNone,        // keep_all: nothing; every conversation stays
  kAnyLater,    // drop_retries: a later turn behind the same one. First turns stay.
  kSamePrompt,  // drop_retries_same_prompt: a later turn behind the same one, or a later first
                // turn, with the same prompt
};
std::string_view to_string(RetryRule rule);
std::optional<RetryRule> retry_rule_of(std::string_view name);

// The last turns of the conversations that stay, those with more turns first, of equal ones the one
// committed last. `turns`: all of a tree, in the order of their commit.
std::vector<TurnId> kept_leaves(std::span<const TurnPtr> turns, RetryRule rule);

}  // namespace windrow::session
