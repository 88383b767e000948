// PairFormat: how a reranking model wants a query and a document put together. Some models carry a
// template for it, others take the two between the special tokens their vocabulary asks for.
#pragma once

#include <optional>
#include <string>

#include "engine/host/types.h"

namespace windrow::engine {

struct PairFormat {
  // Plain text with "{query}" and "{document}" in it. Empty: the model has no template, and a pair
  // is begin, query, end, separator, document, end, of which a model has some.
  std::string pair_template;

  std::optional<Token> begin;
  std::optional<Token> end;
  std::optional<Token> separator;
};

}  // namespace windrow::engine
