// Jump-forward: a text that has to come next, as the tokens that the model would most likely have
// written it with, so that they are appended without sampling. Pure.
//
// Models are trained on one way to cut a text into tokens; another cut is read as something else
// and answered worse. So the cut is that of the tokeniser over the text together with the last
// tokens before it, and nothing is appended where those would have been cut otherwise. What a
// longer token could span across the end is left to the model.
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

struct JumpForwardText {
  std::string_view text;
  bool is_end = false;  // the answer ends behind it

  // Whether a token that begins so many bytes into the text, and reaches beyond its end, may come.
  // Called only where the vocabulary has such tokens.
  std::function<bool(size_t)> may_cross_end;
};

// The tokens to append to a row that holds `before`. May be empty.
std::vector<Token> jump_forward_tokens(std::span<const Token> before, const JumpForwardText& forced,
                                       const Vocabulary& vocabulary,
                                       const grammar::TokenTables& tables);

}  // namespace windrow::engine
