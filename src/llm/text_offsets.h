// Where each token of a choice begins in its text.
#pragma once

#include <cstdint>
#include <vector>

#include "llm/answer.h"

namespace windrow::llm {

// In characters (code points), counted from Choice::text_begin, as OpenAI's `text_offset` is.
// Tokens that share a character begin where it does; those without a place in the text (control
// tokens, what a stop text cut off) begin where the text stands when they come.
std::vector<int32_t> text_offsets(const Choice& choice);

}  // namespace windrow::llm
