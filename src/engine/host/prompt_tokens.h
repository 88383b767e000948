// PromptTokens: the tokens of a rendered prompt. Its segments say whether the template or a message
// wrote them. Control tokens are recognised only in text of the template; all text between two of
// them is tokenised in one piece, whatever wrote it, because that is how the model saw it in
// training. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/host/vocabulary.h"
#include "jinja/template.h"

namespace windrow::engine {

// Const and thread-safe.
class PromptTokens {
 public:
  // `vocabulary` must outlive it.
  explicit PromptTokens(const Vocabulary& vocabulary);

  // Cannot fail.
  std::vector<Token> of(std::span<const jinja::Segment> prompt) const;

 private:
  struct Found {
    size_t at = 0;
    const ControlToken* token = nullptr;
  };

  std::optional<Found> find(std::string_view text, size_t from) const;
  void append_text(std::string_view text, std::vector<Token>& tokens) const;

  const Vocabulary& vocabulary_;
  const std::vector<ControlToken> control_tokens_;
  std::unordered_map<std::string_view, const ControlToken*> by_text_;
  std::vector<size_t> lengths_;  // of the texts, the longest first
  std::string first_bytes_;
};

}  // namespace windrow::engine
