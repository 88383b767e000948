// Grammar: the nodes that are left of a builder's parts once rules are resolved and parts without a
// text are removed. Internal to this module: for the builder and the recognizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/counted_dfa.h"
#include "grammar/text_trie.h"

namespace windrow::grammar {

class Grammar {
 public:
  static constexpr uint32_t kUnbounded = UINT32_MAX;

  struct Node {
    enum class Kind : uint8_t { kTexts, kLexeme, kSequence, kChoice, kRepeat };

    Kind kind = Kind::kSequence;
    bool nullable = false;  // the empty text is one of its texts
    uint32_t first =
        0;  // kTexts: root of the tree; kLexeme: index in `automata`; else in `children`
    uint32_t count = 0;  // how many children
    uint32_t min = 0;    // kRepeat; 0 if the body is nullable
    uint32_t max = 0;    // kRepeat; may be kUnbounded
  };

  uint32_t root = 0;
  std::vector<Node> nodes;
  std::vector<uint32_t> children;
  TextTrie texts;
  std::vector<std::shared_ptr<const ByteDfa>> automata;
  std::vector<std::shared_ptr<const CountedDfa>> counted;  // the same with counts, or null
  size_t bytes = 0;                                        // memory of all of it
};

struct BuilderPart {
  enum class Kind : uint8_t { kText, kLexeme, kSequence, kChoice, kRepeat, kRule };

  Kind kind = Kind::kText;
  std::string text;                           // kText; kRule: its name
  std::shared_ptr<const ByteDfa> dfa;         // kLexeme
  std::shared_ptr<const CountedDfa> counted;  // the same with counts, or null
  std::vector<uint32_t> children;             // kRule: its body, once it is defined
  uint32_t min = 0;
  uint32_t max = 0;  // may be Grammar::kUnbounded
};

// Implements GrammarBuilder::finish.
Result<std::shared_ptr<const Grammar>> finish_grammar(std::vector<BuilderPart> parts, uint32_t root,
                                                      const GrammarLimits& limits);

}  // namespace windrow::grammar
