// LlamaVocabulary: the tokeniser of a GGUF model, by libllama.
#pragma once

#include "engine/vocabulary.h"

struct llama_vocab;

namespace windrow::engine {

class LlamaVocabulary final : public Vocabulary {
 public:
  // `vocabulary` must outlive this.
  explicit LlamaVocabulary(const llama_vocab* vocabulary) : vocabulary_(vocabulary) {}

  int32_t size() const override;
  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override;
  void append_bytes(Token token, std::string& text) const override;
  bool ends_answer(Token token) const override;
  std::optional<Token> begin_token() const override;

 private:
  const llama_vocab* vocabulary_;
};

}  // namespace windrow::engine
