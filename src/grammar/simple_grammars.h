// Parts of a grammar that need no language of their own: one of several texts, a regular
// expression. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"

namespace windrow::grammar {

// Exactly one of these texts, in UTF-8 or any other bytes. kInvalid: there is none, or they are
// larger than `limits` allow.
Result<Part> choice_part(GrammarBuilder& builder, std::span<const std::string> texts,
                         const GrammarLimits& limits = {});

// A text that matches the expression (lexeme/regex.h) as a whole. kInvalid: what is wrong with the
// expression, and at which character; or that no text matches it.
Result<Part> regex_part(GrammarBuilder& builder, std::string_view pattern);

}  // namespace windrow::grammar
