// MarkedVocabulary: words that occur in tool calls, and control tokens that are the marks of
// several families of models.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/testing/word_vocabulary.h"

namespace windrow::engine::testing {

// Control tokens have no text, but where marks are looked for. The last of them ends an answer.
inline const std::vector<std::string> kCallMarks = {
    "[TOOL_CALLS]",   "[ARGS]",      "<｜tool▁calls▁begin｜>",
    "<｜tool▁sep｜>", "<|channel|>", "<|message|>",
    "<|start|>",      "<|end|>",     "<|constrain|>",
    "<|call|>"};

inline const std::vector<std::string> kCallWords = {
    "<tool_call>",   "</tool_call>", "add",      "now",       "{\"",  "\"}",
    "\": ",          "\": \"",       ">\n",      "{\"name\"", "true", "12",
    "<think>",       "</think>",     "\xFF[",    "a\": ",     "</",   "_call>",
    " to=functions", "commentary",   "analysis", "assistant", "."};

class MarkedVocabulary final : public Vocabulary {
 public:
  MarkedVocabulary() {
    std::vector<std::string> words = kCallMarks;
    words.insert(words.end(), kCallWords.begin(), kCallWords.end());
    words_ = std::make_unique<WordVocabulary>(words);
    plain_ = std::make_unique<WordVocabulary>(kCallWords);
  }

  int32_t size() const override { return words_->size(); }
  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override {
    if (control == ControlTokens::kParsed) return words_->tokenize(text, control);
    std::vector<Token> tokens = plain_->tokenize(text, control);
    for (Token& token : tokens) {
      if (token >= WordVocabulary::kFirstWord) token += static_cast<Token>(kCallMarks.size());
    }
    return tokens;
  }
  void append_bytes(Token token, std::string& text) const override {
    if (!is_mark(token)) words_->append_bytes(token, text);
  }
  void append_piece(Token token, std::string& text) const override {
    words_->append_bytes(token, text);
  }
  bool ends_answer(Token token) const override {
    return words_->ends_answer(token) || token == mark(kCallMarks.back());
  }
  std::optional<Token> begin_token() const override { return std::nullopt; }
  std::vector<ControlToken> control_tokens() const override {
    std::vector<ControlToken> tokens;
    tokens.reserve(kCallMarks.size());
    for (const std::string& text : kCallMarks)
      tokens.push_back({.text = text, .token = mark(text)});
    return tokens;
  }

  Token mark(std::string_view text) const { return words_->word(text); }

 private:
  static bool is_mark(Token token) {
    return token >= WordVocabulary::kFirstWord &&
           token < WordVocabulary::kFirstWord + static_cast<Token>(kCallMarks.size());
  }

  std::unique_ptr<WordVocabulary> words_;
  std::unique_ptr<WordVocabulary> plain_;
};

}  // namespace windrow::engine::testing
