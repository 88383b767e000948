#include "engine/llama/llama_vocabulary.h"

#include <llama.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <limits>
#include <string>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

// Bytes that well-formed UTF-8 never has.
bool never_in_utf8(size_t byte) {
  return byte == 0xC0 || byte == 0xC1 || byte >= 0xF5;
}

}  // namespace

LlamaVocabulary::LlamaVocabulary(const llama_vocab* vocabulary)
    : vocabulary_(vocabulary), token_bytes_max_(find_token_bytes_max()) {}

// WordPiece and unigram vocabularies normalise texts and have a token for unknown ones, and the
// rarer kinds are not known well enough. A BPE or SentencePiece vocabulary without a token for each
// byte drops what it cannot write, and a token that strips blanks takes any number of them.
std::optional<size_t> LlamaVocabulary::find_token_bytes_max() const {
  const auto type = llama_vocab_type(vocabulary_);
  if (type != LLAMA_VOCAB_TYPE_BPE && type != LLAMA_VOCAB_TYPE_SPM) return std::nullopt;
  size_t longest = 1;
  std::bitset<256> bytes;
  std::string piece;
  for (Token token = 0; token < size(); ++token) {
    const auto attributes = static_cast<uint32_t>(llama_vocab_get_attr(vocabulary_, token));
    if ((attributes & (LLAMA_TOKEN_ATTR_LSTRIP | LLAMA_TOKEN_ATTR_RSTRIP)) != 0)
      return std::nullopt;
    piece.clear();
    if ((attributes & (LLAMA_TOKEN_ATTR_NORMAL | LLAMA_TOKEN_ATTR_BYTE)) != 0) {
      append_bytes(token, piece);
      if (piece.size() == 1) bytes.set(static_cast<unsigned char>(piece.front()));
    } else {
      piece = llama_vocab_get_text(vocabulary_, token);  // how a text names it
    }
    longest = std::max(longest, piece.size());
  }
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    if (!bytes.test(byte) && !never_in_utf8(byte)) return std::nullopt;
  }
  // Some are told to take capitals or accents off first, which only their tokens show.
  const std::string probe = "The \xC3\x84\xC3\xA9 \xE2\x84\xAA  e\xCC\x81\t\xEF\xBC\xA1.";
  std::string back;
  for (const Token token : tokenize(probe, ControlTokens::kAsText))
    append_bytes(token, back);
  if (!back.ends_with(probe)) return std::nullopt;
  return longest;
}

int32_t LlamaVocabulary::size() const {
  return llama_vocab_n_tokens(vocabulary_);
}

std::vector<Token> LlamaVocabulary::tokenize(std::string_view text, ControlTokens control) const {
  return tokenize(text, /*add_special=*/false, control == ControlTokens::kParsed);
}

std::vector<Token> LlamaVocabulary::tokenize_input(std::string_view text,
                                                   ControlTokens control) const {
  return tokenize(text, /*add_special=*/true, control == ControlTokens::kParsed);
}

std::vector<Token> LlamaVocabulary::tokenize(std::string_view text, bool add_special,
                                             bool parse_special) const {
  ENSURE(text.size() < size_t{std::numeric_limits<int32_t>::max()} / 2,
         "a text of {} bytes was given to the tokeniser", text.size());
  const auto length = static_cast<int32_t>(text.size());
  // Never more tokens than bytes, but for a space that some vocabularies put in front.
  std::vector<Token> tokens(text.size() + 2);
  const auto call = [&] {
    return llama_tokenize(vocabulary_, text.data(), length, tokens.data(),
                          static_cast<int32_t>(tokens.size()), add_special, parse_special);
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

void LlamaVocabulary::append(Token token, bool control, std::string& text) const {
  std::array<char, 64> piece{};
  int32_t length = llama_token_to_piece(vocabulary_, token, piece.data(),
                                        static_cast<int32_t>(piece.size()), 0, control);
  if (length >= 0) {
    text.append(piece.data(), static_cast<size_t>(length));
    return;
  }
  std::string longer(static_cast<size_t>(-length), '\0');
  length = llama_token_to_piece(vocabulary_, token, longer.data(),
                                static_cast<int32_t>(longer.size()), 0, control);
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

// What libllama itself looks for in a text whose control tokens are meant.
std::vector<ControlToken> LlamaVocabulary::control_tokens() const {
  std::vector<ControlToken> found;
  for (Token token = 0; token < size(); ++token) {
    const auto attributes = static_cast<uint32_t>(llama_vocab_get_attr(vocabulary_, token));
    if ((attributes & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN)) == 0) continue;
    const std::string_view text = llama_vocab_get_text(vocabulary_, token);
    if (text.empty()) continue;
    found.push_back({.text = std::string(text),
                     .token = token,
                     .strips_before = (attributes & LLAMA_TOKEN_ATTR_LSTRIP) != 0,
                     .strips_behind = (attributes & LLAMA_TOKEN_ATTR_RSTRIP) != 0});
  }
  return found;
}

}  // namespace windrow::engine
