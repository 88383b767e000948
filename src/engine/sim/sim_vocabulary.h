// SimVocabulary: the tokens of a simulated model: every byte, so that any text and any structure
// can be written; common words, so that answers are readable; and the control tokens of ChatML. A
// text is cut into the longest entries, from its front. Const and thread-safe.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/vocabulary.h"

namespace windrow::engine::sim {

class SimVocabulary final : public Vocabulary {
 public:
  // The first 256 tokens are the bytes.
  static constexpr Token kStart = 256;      // <|im_start|>
  static constexpr Token kEnd = 257;        // <|im_end|>, ends an answer
  static constexpr Token kSeparator = 258;  // <|sep|>, between a query and a document
  static constexpr Token kFirstWord = 259;

  // `size`: at least kVocabularyMin. Words beyond the list are made up.
  explicit SimVocabulary(int32_t size);

  // The words of which answers consist, each with a blank in front: `spoken_count()` tokens from
  // first_spoken() on.
  Token first_spoken() const { return first_spoken_; }
  int32_t spoken_count() const { return size() - first_spoken_; }

  int32_t size() const override { return static_cast<int32_t>(texts_.size()); }
  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override;
  void append_bytes(Token token, std::string& text) const override;
  void append_piece(Token token, std::string& text) const override;
  std::optional<size_t> token_bytes_max() const override { return longest_; }
  bool ends_answer(Token token) const override { return token == kEnd; }
  std::optional<Token> begin_token() const override { return std::nullopt; }
  std::vector<ControlToken> control_tokens() const override;

 private:
  // A node of the trie of all texts: the next node for each byte (0: none), and the token here.
  struct Node {
    std::array<uint32_t, 256> next = {};
    Token token = -1;
  };

  void add(std::string text);

  std::vector<std::string> texts_;  // by token; control tokens as templates write them
  std::vector<Node> nodes_;
  Token first_spoken_ = 0;
  size_t longest_ = 1;
};

}  // namespace windrow::engine::sim
