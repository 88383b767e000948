// PairTokens: a query and a document as the one input of a reranking model.
#pragma once

#include <string_view>
#include <vector>

#include "engine/embed/pair_format.h"
#include "engine/host/prompt_tokens.h"
#include "engine/host/types.h"
#include "engine/host/vocabulary.h"

namespace windrow::engine {

// Const and thread-safe.
class PairTokens {
 public:
  // `vocabulary` must outlive this.
  PairTokens(PairFormat format, const Vocabulary& vocabulary);

  // What looks like a control token in the query or the document is text.
  std::vector<Token> of(std::string_view query, std::string_view document) const;

 private:
  std::vector<Token> by_template(std::string_view query, std::string_view document) const;

  const PairFormat format_;
  const Vocabulary& vocabulary_;
  const PromptTokens prompt_tokens_;
};

}  // namespace windrow::engine
