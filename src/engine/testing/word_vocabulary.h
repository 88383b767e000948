// WordVocabulary: a token is a byte, one ends an answer, and the others are words. A text is cut
// into the longest words that there are, from its front.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/host/vocabulary.h"

namespace windrow::engine::testing {

class WordVocabulary final : public Vocabulary {
 public:
  static constexpr Token kEnd = 256;
  static constexpr Token kFirstWord = 257;

  explicit WordVocabulary(std::vector<std::string> words) : words_(std::move(words)) {}

  int32_t size() const override { return kFirstWord + static_cast<int32_t>(words_.size()); }

  Token word(std::string_view text) const {
    const auto found = std::ranges::find(words_, text);
    return kFirstWord + static_cast<Token>(found - words_.begin());
  }

  std::vector<Token> tokenize(std::string_view text, ControlTokens) const override {
    std::vector<Token> tokens;
    while (!text.empty()) {
      Token best = static_cast<unsigned char>(text.front());
      size_t size = 1;
      for (const std::string& word : words_) {
        if (word.size() <= size || !text.starts_with(word)) continue;
        best = this->word(word);
        size = word.size();
      }
      tokens.push_back(best);
      text.remove_prefix(size);
    }
    return tokens;
  }

  void append_bytes(Token token, std::string& text) const override {
    if (token < kEnd) text += static_cast<char>(token);
    if (token >= kFirstWord) text += words_[static_cast<size_t>(token - kFirstWord)];
  }

  bool ends_answer(Token token) const override { return token == kEnd; }
  std::optional<Token> begin_token() const override { return std::nullopt; }

 private:
  std::vector<std::string> words_;
};

}  // namespace windrow::engine::testing
