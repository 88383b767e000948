// Which tokens of a conversation a turn sampled. Pure; any thread.
#pragma once

#include <cstddef>

#include "session/history/turn_path.h"

namespace windrow::session {

// Tokens [begin, end) of the conversation.
struct AnswerSpan {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
  friend bool operator==(const AnswerSpan&, const AnswerSpan&) = default;
};

// Of turn `turn`, an index of path.turns(). The next turn may keep fewer tokens of the answer than
// were sampled; those that it wrote again the same way count as sampled. Never beyond the prompt
// of the next turn.
AnswerSpan answer_span(const TurnPath& path, size_t turn);

}  // namespace windrow::session
