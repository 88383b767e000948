// Vocabulary: text to tokens and back, as the model was trained. Const and thread-safe.
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

// A token that means something by itself and is written in a template by its text.
struct ControlToken {
  std::string text;  // "<|im_end|>"
  Token token = 0;
  bool strips_before = false;  // blanks in front of it belong to it and vanish, or behind
  bool strips_behind = false;
};

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  virtual int32_t size() const = 0;

  // Nothing is added in front or behind.
  virtual std::vector<Token> tokenize(std::string_view text, ControlTokens control) const = 0;

  // An input to embed: with the tokens that the model wants around a text (CLS and SEP, or BOS and
  // EOS), and no control token that the text might name.
  virtual std::vector<Token> tokenize_input(std::string_view text) const {
    std::vector<Token> tokens = tokenize(text, ControlTokens::kAsText);
    if (const std::optional<Token> begin = begin_token()) tokens.insert(tokens.begin(), *begin);
    return tokens;
  }

  // Appends the bytes of a token; control tokens have none. A character may be spread over tokens.
  virtual void append_bytes(Token token, std::string& text) const = 0;

  // The same, but control tokens are written as a text names them, "<|im_end|>".
  virtual void append_piece(Token token, std::string& text) const { append_bytes(token, text); }

  // No token stands for more bytes of a text than this, so a text of n bytes has at least n / this
  // tokens. Nothing where the tokeniser may drop or merge bytes before it looks at them.
  virtual std::optional<size_t> token_bytes_max() const { return std::nullopt; }

  // The model says by this token that its answer is over.
  virtual bool ends_answer(Token token) const = 0;

  // What the model expects in front of every context, if anything.
  virtual std::optional<Token> begin_token() const = 0;

  virtual std::vector<ControlToken> control_tokens() const { return {}; }
};

}  // namespace windrow::engine
