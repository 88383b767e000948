// The mask of a text with distinct lexemes: the mask of its state, without the tokens that the
// texts seen so far forbid.
//
// Two kinds of tokens can be forbidden. With the first, the lexeme that is being read would become,
// or could only become, one that was seen: these are found by walking the vocabulary's tries along
// the texts seen. In the others a distinct lexeme begins, or must come and may be used up: MaskWalk
// finds those of a state, few, and each is tried.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "grammar/distinct_lexemes.h"
#include "grammar/recognizer.h"
#include "grammar/token_mask.h"
#include "grammar/token_tables.h"

namespace windrow::grammar {

struct DistinctMaskInput {
  const TokenTables& tables;
  Recognizer& recognizer;
  DistinctLexemes& distinct;
  const TextPoint& point;
  std::string& bytes;                 // as for DistinctLexemes::step
  bool begun;                         // as for MaskWalk
  const std::vector<Token>* at_risk;  // sorted by their bytes; may be null
};

// Returns `mask` itself if nothing is forbidden.
std::shared_ptr<const TokenMask> distinct_mask(const DistinctMaskInput& input,
                                               std::shared_ptr<const TokenMask> mask);

}  // namespace windrow::grammar
