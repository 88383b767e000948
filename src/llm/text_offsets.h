// Where each token of a choice begins in its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer.h"

namespace windrow::llm {

// In characters (code points), counted from Choice::text_begin, as OpenAI's `text_offset` is.
// Tokens that share a character begin where it does; those without a place in the text (control
// tokens, what a stop text cut off) begin where the text stands when they come.
std::vector<int32_t> text_offsets(const Choice& choice);

// The same for a choice that comes in pieces: no token before the text it made (llm/stream_sink.h).
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
