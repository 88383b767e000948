// What a Grammar is inside: the parts that are left when rules are resolved and what has no text is
// gone. For the Recognizer; nobody else includes this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "grammar/lexeme/byte_dfa.h"
#include "grammar/text_trie.h"

namespace windrow::grammar {

class Grammar {
 public:
  static constexpr uint32_t kUnbounded = UINT32_MAX;

  struct Node {
    enum class Kind : uint8_t { kTexts, kLexeme, kSequence, kChoice, kRepeat };

    Kind kind = Kind::kSequence;
    bool nullable = false;  // the empty text is one of its texts
    uint32_t first = 0;     // texts: the tree's root; lexeme: of `automata`; others: of `children`
    uint32_t count = 0;     // of children
    uint32_t min = 0;       // repeat; 0 where the body is nullable
    uint32_t max = 0;       // repeat; maybe kUnbounded
  };

  uint32_t root = 0;
  std::vector<Node> nodes;
  std::vector<uint32_t> children;
  TextTrie texts;
  std::vector<std::shared_ptr<const ByteDfa>> automata;
  size_t bytes = 0;  // of all this
};

}  // namespace windrow::grammar
