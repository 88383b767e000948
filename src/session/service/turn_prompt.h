// TurnPrompt: the tokens that a model reads for a turn: those of the conversation so far, exactly
// as they were, and behind them what the new messages add. Pure; takes as long as rendering and
// tokenising what is new.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"
#include "llm/tokenizer.h"
#include "session/history/turn_path.h"

namespace windrow::session {

struct TurnPrompt {
  std::vector<int32_t> tokens;  // the whole
  size_t kept_tokens = 0;       // of them, those of the conversation so far
};

// `path`: the conversation so far, empty for none; the request's first `path_messages` messages are
// those of it. Failures are the tokenizer's.
std::variant<TurnPrompt, llm::Failure> make_turn_prompt(const TurnPath& path, size_t path_messages,
                                                        const llm::Chat& chat,
                                                        const llm::Tokenizer& tokenizer);

}  // namespace windrow::session
