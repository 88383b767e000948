// TokenTables: what a vocabulary looks like to grammars: its tokens as tries of bytes, and which of
// them stay within plain characters. Made once for a vocabulary (150,000 tokens: within 300 ms),
// immutable but for what is remembered, shared between threads and grammars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/lexeme_masks.h"
#include "grammar/token_mask.h"
#include "grammar/token_trie.h"

namespace windrow::grammar {

class TokenTables {
  struct Private {};  // only make() has one

 public:
  explicit TokenTables(Private) {}

  // The bytes of each token, in order. Those without bytes (control tokens) are never allowed, but
  // for `end_tokens`, which say that the text is over and never stand for their bytes.
  static std::shared_ptr<const TokenTables> make(std::span<const std::string> token_bytes,
                                                 std::vector<Token> end_tokens);

  int32_t vocabulary_size() const { return vocabulary_size_; }
  size_t memory_bytes() const;

  // The most characters that one token has, and the most bytes. A character that is cut counts.
  int32_t token_chars_max() const { return token_chars_max_; }
  size_t token_bytes_max() const { return token_bytes_max_; }

  // Whether a token begins with `bytes` and is longer.
  bool continues(std::string_view bytes) const;

  // Empty for control tokens, end tokens, and what is no token.
  std::string_view bytes(Token token) const;
  std::span<const Token> end_tokens() const { return end_tokens_; }
  bool is_end(Token token) const;

  // --- for the walk that finds a mask ---

  // Tokens of plain characters only (plain_facts.h), all of them whole; and all others.
  const TokenTrie& plain() const { return plain_; }
  const TokenTrie& special() const { return special_; }

  // The others by what they are behind their plain characters: where these change nothing, a few
  // hundred endings stand for many tokens.
  const TokenTrie& endings() const { return endings_; }

  // The most characters that one of the others has.
  uint32_t special_chars_max() const { return special_chars_max_; }

  // Of the plain ones those that stay within a lexeme.
  LexemeMasks& lexeme_masks() const { return *lexeme_masks_; }

  // The plain ones of at most so many characters.
  TokenMask plain_mask(uint32_t chars_max) const;

 private:
  void add_slices(const std::vector<std::pair<uint32_t, Token>>& plain_by_chars);

  int32_t vocabulary_size_ = 0;
  int32_t token_chars_max_ = 0;
  size_t token_bytes_max_ = 0;
  uint32_t special_chars_max_ = 0;
  std::vector<Token> end_tokens_;
  std::string all_bytes_;
  std::vector<uint32_t> bytes_from_;
  TokenTrie plain_;
  TokenTrie special_;
  TokenTrie endings_;

  static constexpr size_t kLexemeMasksBytes = 64U << 20;
  std::unique_ptr<LexemeMasks> lexeme_masks_ = std::make_unique<LexemeMasks>(kLexemeMasksBytes);

  // Most tokens are short: a mask for each number of characters up to kSlices, and then a list.
  static constexpr uint32_t kSlices = 24;
  std::vector<TokenMask> slices_;                   // of at most i characters
  std::vector<std::pair<uint32_t, Token>> longer_;  // characters and token, sorted
};

}  // namespace windrow::grammar
