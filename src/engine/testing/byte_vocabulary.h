// ByteVocabulary: one token for each byte, and a few control tokens.
#pragma once

#include "engine/host/vocabulary.h"

namespace windrow::engine::testing {

class ByteVocabulary final : public Vocabulary {
 public:
  static constexpr Token kEnd = 256;    // <|im_end|>, ends an answer
  static constexpr Token kTurn = 257;   // <|im_start|>
  static constexpr Token kBegin = 258;  // at the beginning of every context, if `has_begin`
  static constexpr int32_t kSize = 259;

  explicit ByteVocabulary(bool has_begin = false) : has_begin_(has_begin) {}

  int32_t size() const override { return kSize; }

  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override {
    std::vector<Token> tokens;
    while (!text.empty()) {
      const bool parse = control == ControlTokens::kParsed;
      if (parse && text.starts_with("<|im_end|>")) {
        tokens.push_back(kEnd);
        text.remove_prefix(10);
      } else if (parse && text.starts_with("<|im_start|>")) {
        tokens.push_back(kTurn);
        text.remove_prefix(12);
      } else {
        tokens.push_back(static_cast<unsigned char>(text.front()));
        text.remove_prefix(1);
      }
    }
    return tokens;
  }

  void append_bytes(Token token, std::string& text) const override {
    if (token < 256) text += static_cast<char>(token);
  }

  void append_piece(Token token, std::string& text) const override {
    append_bytes(token, text);
    if (token == kEnd) text += "<|im_end|>";
    if (token == kTurn) text += "<|im_start|>";
    if (token == kBegin) text += "<|begin|>";
  }

  bool ends_answer(Token token) const override { return token == kEnd; }

  std::optional<Token> begin_token() const override {
    return has_begin_ ? std::optional(kBegin) : std::nullopt;
  }

  std::vector<ControlToken> control_tokens() const override {
    return {{.text = "<|im_end|>", .token = kEnd},
            {.text = "<|im_start|>", .token = kTurn},
            {.text = "<|begin|>", .token = kBegin}};
  }

 private:
  bool has_begin_;
};

}  // namespace windrow::engine::testing
