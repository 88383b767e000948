// The `logprobs` of a choice, or of a part of one in a stream, as the OpenAI API writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer.h"

namespace windrow::llm {

// [{"token", "logprob", "bytes", "top_logprobs"}...]
void append_token_logprobs(std::span<const ScoredToken> tokens, std::string& text);

// {"content": those, "refusal": null}
void append_chat_logprobs(std::span<const ScoredToken> tokens, std::string& text);

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}; an offset for each token.
void append_completion_logprobs(std::span<const ScoredToken> tokens,
                                std::span<const int32_t> offsets, std::string& text);

// --- where each token of a choice begins in its text: the text_offset of completions ---

// In characters (code points), counted from Choice::text_begin, as OpenAI's `text_offset` is.
// Tokens that share a character begin where it does; those without a place in the text (control
// tokens, what a stop text cut off) begin where the text stands when they come.
std::vector<int32_t> text_offsets(const Choice& choice);

// The same for a choice that comes in pieces: no token before the text it made (stream_sink.h).
class TextOffsets {
 public:
  explicit TextOffsets(int32_t begin) : characters_(begin) {}

  void add_text(std::string_view text);

  // Of the next token, by its bytes.
  int32_t next(std::string_view token);

 private:
  bool at_start_ = true;
  int32_t characters_;  // that begin before the next token
  std::string text_;    // what no token has begins at
  size_t used_ = 0;
};

}  // namespace windrow::llm
