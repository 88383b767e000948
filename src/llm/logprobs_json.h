// The `logprobs` of a choice, or of a part of one in a stream, as the OpenAI API writes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "llm/answer.h"

namespace windrow::llm {

// [{"token", "logprob", "bytes", "top_logprobs"}...]
void append_token_logprobs(std::span<const ScoredToken> tokens, std::string& text);

// {"content": those, "refusal": null}
void append_chat_logprobs(std::span<const ScoredToken> tokens, std::string& text);

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}; an offset for each token.
void append_completion_logprobs(std::span<const ScoredToken> tokens,
                                std::span<const int32_t> offsets, std::string& text);

}  // namespace windrow::llm
