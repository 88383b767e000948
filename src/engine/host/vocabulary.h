// Vocabulary: text to tokens and back, as the model was trained. Const and thread-safe.
// Implementations: engine/llama/llama_vocabulary.h, engine/sim/sim_vocabulary.h, engine/testing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/types.h"

namespace windrow::engine {

// Whether "<|im_end|>" in a text is that control token or eleven characters.
enum class ControlTokens : uint8_t { kAsText, kParsed };

// A token with a meaning of its own, which a chat template writes by its text.
struct ControlToken {
  std::string text;  // "<|im_end|>"
  Token token = 0;
  bool strips_before = false;  // whitespace before it is dropped
  bool strips_behind = false;  // whitespace behind it is dropped
};

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  virtual int32_t size() const = 0;

  // The tokens of the text; none is added before or behind.
  virtual std::vector<Token> tokenize(std::string_view text, ControlTokens control) const = 0;

  // The same with those that the model wants around a text that is all of its input (CLS and SEP,
  // or BOS and EOS).
  virtual std::vector<Token> tokenize_input(std::string_view text, ControlTokens control) const {
    std::vector<Token> tokens = tokenize(text, control);
    if (const std::optional<Token> begin = begin_token()) tokens.insert(tokens.begin(), *begin);
    return tokens;
  }

  // Appends the bytes of a token; control tokens have none. A character may span several tokens.
  virtual void append_bytes(Token token, std::string& text) const = 0;

  // The same, but control tokens are written by their text, "<|im_end|>".
  virtual void append_piece(Token token, std::string& text) const { append_bytes(token, text); }

  // The most bytes of a text that one token stands for, so n bytes have at least n / this tokens.
  // Nothing where the tokenizer may drop or merge bytes first.
  virtual std::optional<size_t> token_bytes_max() const { return std::nullopt; }

  // Whether the model ends its answer with this token.
  virtual bool ends_answer(Token token) const = 0;

  // The token that the model expects at the beginning of every context, if any.
  virtual std::optional<Token> begin_token() const = 0;

  virtual std::vector<ControlToken> control_tokens() const { return {}; }
};

}  // namespace windrow::engine
