// A walk: token after token, each drawn from what the mask allows, as a model without any sense
// would write. Late in it only tokens are taken that bring the text to its end.
#pragma once

#include <span>
#include <string>

#include "base/random.h"
#include "grammar/matcher.h"
#include "structured/vocabulary.h"

namespace windrow::structured {

struct Walk {
  std::string text;
  std::string fault;  // why it could not go on; empty: it ended as it should
};

// `tokens`: how many are drawn freely. `hints`: contents of strings that may be what an expression
// asks for at its end.
Walk random_walk(grammar::Matcher matcher, const Vocabulary& vocabulary, Random& random,
                 size_t tokens, std::span<const std::string> hints);

// Whether the grammar has exactly this text, taken in the tokens of a random segmentation.
bool accepted(grammar::Matcher matcher, const Vocabulary& vocabulary, const std::string& text,
              Random& random);

}  // namespace windrow::structured
