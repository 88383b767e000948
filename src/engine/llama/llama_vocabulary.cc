#include "engine/llama/llama_vocabulary.h"

#include <llama.h>

#include <array>
#include <limits>

#include "base/ensure.h"

namespace windrow::engine {

int32_t LlamaVocabulary::size() const {
  return llama_vocab_n_tokens(vocabulary_);
}

std::vector<Token> LlamaVocabulary::tokenize(std::string_view text, ControlTokens control) const {
  ENSURE(text.size() < size_t{std::numeric_limits<int32_t>::max()} / 2,
         "a text of {} bytes was given to the tokeniser", text.size());
  const auto length = static_cast<int32_t>(text.size());
  const bool parse = control == ControlTokens::kParsed;
  // Never more tokens than bytes, but for a space that some vocabularies put in front.
  std::vector<Token> tokens(text.size() + 2);
  const auto call = [&] {
    return llama_tokenize(vocabulary_, text.data(), length, tokens.data(),
                          static_cast<int32_t>(tokens.size()), /*add_special=*/false, parse);
  };
  int32_t count = call();
  if (count < 0) {
    tokens.resize(static_cast<size_t>(-count));
    count = call();
  }
  ENSURE(count >= 0, "libllama asked for more than the {} tokens it had asked for", tokens.size());
  tokens.resize(static_cast<size_t>(count));
  return tokens;
}

void LlamaVocabulary::append_bytes(Token token, std::string& text) const {
  std::array<char, 64> piece{};
  int32_t length = llama_token_to_piece(vocabulary_, token, piece.data(),
                                        static_cast<int32_t>(piece.size()), 0, /*special=*/false);
  if (length >= 0) {
    text.append(piece.data(), static_cast<size_t>(length));
    return;
  }
  std::string longer(static_cast<size_t>(-length), '\0');
  length = llama_token_to_piece(vocabulary_, token, longer.data(),
                                static_cast<int32_t>(longer.size()), 0, /*special=*/false);
  ENSURE(length >= 0, "token {} is longer than libllama said", token);
  text.append(longer.data(), static_cast<size_t>(length));
}

bool LlamaVocabulary::ends_answer(Token token) const {
  return llama_vocab_is_eog(vocabulary_, token);
}

std::optional<Token> LlamaVocabulary::begin_token() const {
  if (!llama_vocab_get_add_bos(vocabulary_)) return std::nullopt;
  const llama_token token = llama_vocab_bos(vocabulary_);
  if (token < 0) return std::nullopt;
  return token;
}

}  // namespace windrow::engine
