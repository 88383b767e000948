// ForcedRun: a text that has to come next, as the tokens a model would most likely have written it
// with. Pure.
//
// Models are trained on one way to cut a text into tokens; another one is read as something else
// and answered worse. So the cut is that of the tokeniser over the text with the last tokens before
// it, and nothing is forced where those would have been cut otherwise. What a longer token could
// span across the end is left to the model.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/host/types.h"
#include "engine/host/vocabulary.h"
#include "grammar/token_tables.h"

namespace windrow::engine {

struct ForcedText {
  std::string_view text;
  bool is_end = false;  // nothing comes behind it

  // Whether a token that begins so many bytes into the text, and reaches beyond its end, may come.
  // Asked only where the vocabulary has such tokens.
  std::function<bool(size_t)> may_cross_end;
};

// `before`: what the row holds. Maybe none.
std::vector<Token> forced_tokens(std::span<const Token> before, const ForcedText& forced,
                                 const Vocabulary& vocabulary, const grammar::TokenTables& tables);

}  // namespace windrow::engine
