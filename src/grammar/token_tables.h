// TokenTables: what a vocabulary looks like to grammars: its tokens as a trie of bytes, and which
// of them stay within plain characters. Made once for a vocabulary (150,000 tokens: within 300 ms),
// immutable, shared between threads and grammars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace windrow::grammar {

using Token = int32_t;

class TokenTables {
 public:
  // The bytes of each token, in order. Those without bytes (control tokens) are never allowed, but
  // for `end_tokens`, which say that the text is over.
  static std::shared_ptr<const TokenTables> make(std::span<const std::string> token_bytes,
                                                 std::vector<Token> end_tokens);
  ~TokenTables();

  int32_t vocabulary_size() const;
  size_t memory_bytes() const;

  // The most characters that one token has.
  int32_t token_chars_max() const;

  // Whether a token begins with `bytes` and is longer.
  bool continues(std::string_view bytes) const;

 private:
  struct Parts;
  explicit TokenTables(std::unique_ptr<Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

}  // namespace windrow::grammar
