// The tokens of an answer that belong to a conversation. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "llm/answer.h"
#include "llm/tokenizer.h"

namespace windrow::program {

// Choice::token_ids without the stop text or stop token that ended it, which are no part of what
// was said, and with the model's own end token. Where a stop text begins within a token, what is
// before it in that token is tokenised anew.
std::vector<int32_t> tokens_said(const llm::Tokenizer& tokenizer, const llm::Choice& choice);

// The same without the end token, which would end a raw text for good.
std::vector<int32_t> tokens_said_raw(const llm::Tokenizer& tokenizer, const llm::Choice& choice);

}  // namespace windrow::program
