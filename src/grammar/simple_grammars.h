// Grammars that need no language of their own: one of some texts, a regular expression. Pure.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"

namespace windrow::grammar {

// Exactly one of these texts, in UTF-8 or any other bytes. kInvalid: there is none; or they are too
// large.
Result<std::shared_ptr<const Grammar>> choice_grammar(std::span<const std::string> texts,
                                                      const GrammarLimits& limits = {});

// All of the text matches the expression (lexeme/regex.h). kInvalid: what is wrong with it, and at
// which character; or no text matches it.
Result<std::shared_ptr<const Grammar>> regex_grammar(std::string_view pattern,
                                                     const GrammarLimits& limits = {});

// Make a choice and an expression parts of larger grammars.
Result<Part> choice_part(GrammarBuilder& builder, std::span<const std::string> texts,
                         const GrammarLimits& limits = {});
Result<Part> regex_part(GrammarBuilder& builder, std::string_view pattern);

}  // namespace windrow::grammar
