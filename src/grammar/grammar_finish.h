// From the parts a GrammarBuilder collected to a Grammar: what has no text is taken out, rules are
// resolved, left recursion is refused. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/grammar_nodes.h"

namespace windrow::grammar {

struct BuilderPart {
  enum class Kind : uint8_t { kText, kLexeme, kSequence, kChoice, kRepeat, kRule };

  Kind kind = Kind::kText;
  std::string text;                    // of a text; the name of a rule
  std::shared_ptr<const ByteDfa> dfa;  // of a lexeme
  std::vector<uint32_t> children;      // a rule's: its body, when it is defined
  uint32_t min = 0;
  uint32_t max = 0;  // maybe Grammar::kUnbounded
};

// As GrammarBuilder::finish.
Result<std::shared_ptr<const Grammar>> finish_grammar(std::vector<BuilderPart> parts, uint32_t root,
                                                      const GrammarLimits& limits);

}  // namespace windrow::grammar
