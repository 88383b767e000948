// TokenTables: a vocabulary prepared for grammars: its tokens as tries of bytes, and which of them
// consist of plain characters (plain_facts.h). Made once for a vocabulary (150,000 tokens: within
// 300 ms) and shared between threads and grammars. Immutable, except for a thread-safe cache of
// masks.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/lexeme/byte_dfa.h"
#include "grammar/plain_facts.h"
#include "grammar/token_mask.h"
#include "grammar/token_trie.h"

namespace windrow::grammar {

// A cache of masks: the plain tokens that stay within a lexeme from one of its states on. They do
// not depend on the grammar around it, and the automata of formats (an address, a date) are the
// same objects in all grammars, so rows of all grammars share them. Thread-safe.

class TokenTables;

class LexemeMasks {
 public:
  explicit LexemeMasks(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Returns the mask from the cache, or finds it. `facts` are those of `dfa`. The oldest masks are
  // evicted beyond `bytes_max`.
  std::shared_ptr<const TokenMask> get(const TokenTables& tables,
                                       const std::shared_ptr<const ByteDfa>& dfa,
                                       ByteDfa::State state, const std::vector<PlainFacts>& facts);

 private:
  using Key = std::pair<const ByteDfa*, ByteDfa::State>;
  struct Kept {
    std::shared_ptr<const ByteDfa> dfa;  // keeps the address in the key valid
    std::shared_ptr<const TokenMask> mask;
  };

  const size_t bytes_max_;
  std::mutex mutex_;
  boost::unordered_flat_map<Key, Kept> masks_;
  std::deque<Key> order_;  // oldest first
};

class TokenTables {
  struct Private {};  // only make() has one

 public:
  explicit TokenTables(Private) {}

  // `token_bytes`: the bytes of each token, in order. Tokens without bytes (control tokens) are
  // never allowed, except `end_tokens`, which end the text and never stand for their bytes.
  static std::shared_ptr<const TokenTables> make(std::span<const std::string> token_bytes,
                                                 std::vector<Token> end_tokens);

  int32_t vocabulary_size() const { return vocabulary_size_; }
  size_t memory_bytes() const;

  // The maximum of characters and of bytes in a token. A character that is cut counts.
  int32_t token_chars_max() const { return token_chars_max_; }
  size_t token_bytes_max() const { return token_bytes_max_; }

  // Whether a token begins with `bytes` and is longer.
  bool continues(std::string_view bytes) const;

  // Empty for control tokens, end tokens and invalid numbers.
  std::string_view bytes(Token token) const;
  std::span<const Token> end_tokens() const { return end_tokens_; }
  bool is_end(Token token) const;

  // --- for the walk that finds a mask ---

  // Tokens of whole plain characters only; and all others, called special.
  const TokenTrie& plain() const { return plain_; }
  const TokenTrie& special() const { return special_; }

  // Special tokens without the plain characters they begin with: if those do not change the state,
  // a few hundred endings stand for many tokens.
  const TokenTrie& endings() const { return endings_; }

  // The maximum of characters in a special token.
  uint32_t special_chars_max() const { return special_chars_max_; }

  // The plain tokens that stay within a lexeme.
  LexemeMasks& lexeme_masks() const { return *lexeme_masks_; }

  // The plain tokens of at most `chars_max` characters.
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
  std::vector<TokenMask> slices_;                   // at i: plain tokens of at most i characters
  std::vector<std::pair<uint32_t, Token>> longer_;  // all others: characters and token, sorted
};

}  // namespace windrow::grammar
