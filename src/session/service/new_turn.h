// NewTurn: the turn that an answer makes. Pure; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "session/history/turn_path.h"
#include "session/models/session_models.h"
#include "session/service/chat_body.h"
#include "session/service/turn_prompt.h"

namespace windrow::session {

// Of a request that goes on from `path`, of which `path_messages` messages are the conversation so
// far. Takes tokens and rows out of `answer`. What equals the last turn's is shared with it.
std::shared_ptr<Turn> new_turn(const TurnPath& path, size_t path_messages, const ChatBody& body,
                               const TurnPrompt& prompt, TurnAnswer& answer,
                               const SessionConfig& config);

}  // namespace windrow::session
