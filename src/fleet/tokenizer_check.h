// Whether a tokenizer is the one of a server, by what the server told of one prompt. Pure; any
// thread.
//
// A wrong verdict would take a right tokenizer away from its users, so what tokenizers of one model
// may differ in counts for nothing: the special tokens around a text, white space, and characters
// that some of them normalise first (NFC, NFKC).
#pragma once

#include <cstdint>
#include <string>

#include "llm/tokenizer.h"
#include "llm/told_prompt.h"

namespace windrow::fleet {

enum class TokenizerMatch : uint8_t {
  kUnknown,  // this prompt does not show it
  kSame,
  kOther,
};

struct TokenizerVerdict {
  TokenizerMatch match = TokenizerMatch::kUnknown;

  // kOther: "it reads a prompt as 5 tokens and the server as 7". Says nothing of the prompt, which
  // is its client's.
  std::string difference;
};

// Looks at no more than 4,096 tokens and as many bytes of text, so it takes milliseconds. A whole
// prompt is encoded and its ids are compared; the ids of a longer one or of a chat, in which the
// template adds what only the server knows, are decoded and searched for the words of the text.
TokenizerVerdict check_tokenizer(const llm::Tokenizer& tokenizer, const llm::ToldPrompt& told);

}  // namespace windrow::fleet
