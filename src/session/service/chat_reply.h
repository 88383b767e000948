// The reply to a turn as a client of chat completions gets it. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "llm/answer.h"
#include "session/models/session_models.h"
#include "session/service/chat_body.h"

namespace windrow::session {

struct ChatReplyFacts {
  std::string_view id;  // without its prefix
  std::string_view model;
  int64_t created_unix_s = 0;
};

llm::Usage usage_of(const TurnReply& reply, size_t prompt_tokens);

// JSON. Of a server's own chat it is that server's reply without rows; of others it lists
// log-probabilities and ids only if `body` asks for them. Call it before new_turn takes the tokens.
std::string chat_reply(const TurnAnswer& answer, const ChatBody& body,
                       std::span<const int32_t> prompt, const ChatReplyFacts& facts);

}  // namespace windrow::session
