// GBNF, the grammars of llama.cpp (and the EBNF of others, as far as the two agree), as a Grammar.
// Pure. The root is the rule `root`.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"

namespace windrow::grammar {

// kInvalid: what is wrong, in which line and column.
Result<std::shared_ptr<const Grammar>> parse_gbnf(std::string_view text,
                                                  const GrammarLimits& limits = {});

// Makes the text a part of a larger grammar. kInvalid: as above.
Result<Part> gbnf_part(GrammarBuilder& builder, std::string_view text,
                       const GrammarLimits& limits = {});

}  // namespace windrow::grammar
