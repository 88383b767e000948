// Whole grammars of one part.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"

namespace windrow::grammar::testing {

inline Result<std::shared_ptr<const Grammar>> choice_grammar(std::span<const std::string> texts,
                                                             const GrammarLimits& limits = {}) {
  GrammarBuilder builder;
  const Result<Part> root = choice_part(builder, texts, limits);
  if (!root) return root.error();
  return builder.finish(*root);
}

inline Result<std::shared_ptr<const Grammar>> regex_grammar(std::string_view pattern) {
  GrammarBuilder builder;
  const Result<Part> root = regex_part(builder, pattern);
  if (!root) return root.error();
  return builder.finish(*root);
}

}  // namespace windrow::grammar::testing
