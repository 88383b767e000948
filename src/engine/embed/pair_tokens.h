// A query and a document as the one input of a reranking model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/prompt_tokens.h"
#include "engine/host/types.h"
#include "engine/host/vocabulary.h"

namespace windrow::engine {

// How a model wants the two put together. Some models carry a template for it, others take the two
// between the special tokens that their vocabulary asks for. A value.
struct PairFormat {
  // Plain text with "{query}" and "{document}" in it. Empty: the model has no template, and a pair
  // is begin, query, end, separator, document, end, as far as the model has these tokens.
  std::string pair_template;

  std::optional<Token> begin;
  std::optional<Token> end;
  std::optional<Token> separator;
};

// Const and thread-safe.
class PairTokens {
 public:
  // `vocabulary` must outlive it.
  PairTokens(PairFormat format, const Vocabulary& vocabulary);

  // The tokens of a pair. What looks like a control token in the query or the document is text.
  std::vector<Token> of(std::string_view query, std::string_view document) const;

 private:
  std::vector<Token> by_template(std::string_view query, std::string_view document) const;

  const PairFormat format_;
  const Vocabulary& vocabulary_;
  const PromptTokens prompt_tokens_;
};

}  // namespace windrow::engine
