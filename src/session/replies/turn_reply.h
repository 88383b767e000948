// TurnReply: what a server answered to a turn, whatever its kind: the sampled tokens, their
// log-probabilities, the rows of the tokens, and for chats the message. Plain values.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/history/turn.h"

namespace windrow::session {

// Which rows a reply is expected to have, and which of them are wanted.
struct WantedRows {
  bool wanted = false;
  size_t first_row = 0;        // those before it are held, and skipped
  size_t reply_begins_at = 0;  // the first row of the reply: 0, or what the server was asked for
  size_t values_per_row = 0;   // of the rows that are held; 0: not known yet, and nothing is held
};

struct TurnReply {
  // All that were sampled, as the server lists them: with the end token and those of a stop text,
  // which the text lacks.
  std::vector<int32_t> tokens;
  std::vector<double> logprobs;  // of each token

  // The rows from WantedRows::first_row to the last but one token. Null: the server told none.
  std::shared_ptr<TokenRows> rows[kRowKinds];

  std::string finish_reason;
  TurnFigures figures;

  // Of a chat: the whole reply without blobs, as the server wrote it, for the client; its first
  // choice has the message. Otherwise empty: the tokens are read here.
  boost::json::object chat;

  // Of others: members of the reply that are worth keeping (id, model, created, usage, meta_info
  // without tokens and blobs).
  boost::json::object members;
};

}  // namespace windrow::session
