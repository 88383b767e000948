// LlamaVocabulary: the tokeniser of a GGUF model, by libllama. Const and thread-safe.
#pragma once

#include "engine/host/vocabulary.h"

struct llama_vocab;

namespace windrow::engine {

class LlamaVocabulary final : public Vocabulary {
 public:
  // `vocabulary` must outlive this.
  explicit LlamaVocabulary(const llama_vocab* vocabulary);

  int32_t size() const override;
  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override;
  std::vector<Token> tokenize_input(std::string_view text, ControlTokens control) const override;
  void append_bytes(Token token, std::string& text) const override {
    append(token, /*control=*/false, text);
  }
  void append_piece(Token token, std::string& text) const override {
    append(token, /*control=*/true, text);
  }
  std::optional<size_t> token_bytes_max() const override { return token_bytes_max_; }
  bool ends_answer(Token token) const override;
  std::optional<Token> begin_token() const override;
  std::vector<ControlToken> control_tokens() const override;

 private:
  std::vector<Token> tokenize(std::string_view text, bool add_special, bool parse_special) const;
  void append(Token token, bool control, std::string& text) const;
  std::optional<size_t> find_token_bytes_max() const;

  const llama_vocab* vocabulary_;
  std::optional<size_t> token_bytes_max_;
};

}  // namespace windrow::engine
