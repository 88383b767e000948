// GBNF, the grammar format of llama.cpp, as a Grammar. Accepts the EBNF of other engines as far as
// it means the same. The root is the rule `root`. Pure, any thread.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"

namespace windrow::grammar {

// kInvalid, with the line and the column: a syntax error, or an error of GrammarBuilder::finish.
Result<std::shared_ptr<const Grammar>> parse_gbnf(std::string_view text,
                                                  const GrammarLimits& limits = {});

// The same as a part of a larger grammar.
Result<Part> gbnf_part(GrammarBuilder& builder, std::string_view text,
                       const GrammarLimits& limits = {});

}  // namespace windrow::grammar
