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
    enum class Kind : uint8_t {
      kTexts,
      kLexeme,
      kSequence,
      kChoice,
      kRepeat,
      kMembers,
      kContainer
    };

    Kind kind = Kind::kSequence;
    bool nullable = false;  // the empty text is one of its texts
    uint32_t first =
        0;  // kTexts: root of the tree; kLexeme: index in `automata`; else in `children`
    uint32_t count = 0;    // how many children
    uint32_t min = 0;      // kRepeat, 0 if the body is nullable; kMembers
    uint32_t max = 0;      // kRepeat, kMembers; may be kUnbounded
    uint32_t members = 0;  // kMembers: index in `members`
  };

  // The members of a kMembers node, by name. Its children are `other`, if there is one, then the
  // values, by member, and then the separator, if there is one.
  struct Members {
    TextTrie::Node names = TextTrie::kNone;  // the root of a tree of all names, if there are some
    uint32_t count = 0;                      // how many names
    uint32_t required_count = 0;
    std::vector<uint32_t> required;  // as MemberSets has them
    std::vector<uint32_t> in_order;  // members in their order; empty: in any order
    std::vector<uint32_t> ranks;     // by member: its index in `in_order`
    bool has_other = false;
    uint32_t other_max = kUnbounded;
    bool has_separator = false;
  };

  uint32_t root = 0;
  std::vector<Node> nodes;
  std::vector<uint32_t> children;
  std::vector<Members> members;
  TextTrie texts;
  TextTrie::Node names_from = TextTrie::kNone;  // nodes from here on are within names of members
  std::vector<TextTrie::Range> names;           // which members begin like these nodes
  std::vector<std::shared_ptr<const ByteDfa>> automata;
  std::vector<std::shared_ptr<const CountedDfa>> counted;  // the same with counts, or null
  std::vector<bool> is_distinct;  // by automaton: a distinct lexeme; containers are there for these
  bool has_distinct = false;
  size_t bytes = 0;  // memory of all of it
};

struct BuilderPart {
  enum class Kind : uint8_t {
    kText,
    kLexeme,
    kSequence,
    kChoice,
    kRepeat,
    kMembers,
    kRule,
    kContainer
  };

  Kind kind = Kind::kText;
  bool is_distinct = false;                   // kLexeme
  std::string text;                           // kText; kRule: its name
  std::shared_ptr<const ByteDfa> dfa;         // kLexeme
  std::shared_ptr<const CountedDfa> counted;  // the same with counts, or null
  std::vector<uint32_t> children;             // kRule: its body, once it is defined; see Members
  uint32_t min = 0;
  uint32_t max = 0;  // may be Grammar::kUnbounded

  // kMembers, whose children are like those of a node.
  struct Members {
    std::vector<std::string> names;  // sorted
    std::vector<bool> required;
    std::vector<uint32_t> ranks;  // by name, if they come in an order
    uint32_t required_count = 0;
    bool has_other = false;
    uint32_t other_max = Grammar::kUnbounded;
    bool has_separator = false;
  };
  std::shared_ptr<const Members> members;
};

// Implements GrammarBuilder::finish.
Result<std::shared_ptr<const Grammar>> finish_grammar(std::vector<BuilderPart> parts, uint32_t root,
                                                      const GrammarLimits& limits,
                                                      const GiveUp& give_up);

}  // namespace windrow::grammar
