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

// A turn, and rows that the answer told of the conversation before it, from the first row on: null
// unless all were asked for (SessionConfig::keeps_last_rows).
struct NewTurn {
  std::shared_ptr<Turn> turn;
  std::shared_ptr<const TokenRows> earlier_rows[kRowKinds];
};

// Of a request that goes on from `path`, of which `path_messages` messages are the conversation so
// far. Takes tokens and rows out of `answer`. What equals the last turn's is shared with it.
NewTurn new_turn(const TurnPath& path, size_t path_messages, const ChatBody& body,
                 const TurnPrompt& prompt, TurnAnswer& answer, const SessionConfig& config);

}  // namespace windrow::session
