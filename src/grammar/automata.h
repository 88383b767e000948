// Automata: the literal texts and lexemes of a grammar as one kind of thing, and what holds of
// plain characters in their states.
//
// Plain characters are those that stand in a JSON string as they are: in UTF-8, from U+0020 on, but
// for the quote, the backslash and U+007F, which some grammars leave out. Most tokens of a
// vocabulary consist of them, and most states of lexemes either let all of them pass or hardly one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grammar/grammar_nodes.h"

namespace windrow::grammar {

// Whether a plain character begins with this byte.
constexpr bool begins_plain(uint8_t byte) {
  return (byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\') ||
         (byte >= 0xC2 && byte <= 0xF4);
}

// Used by one thread at a time: facts are found when they are asked for.
class Automata {
 public:
  static constexpr uint32_t kTexts = 0;  // all literal texts; lexeme i of the grammar is i + 1
  static constexpr uint32_t kDead = UINT32_MAX;

  // Bits of facts(). Bit i, up to 3: behind i more bytes of a character that has begun, all plain
  // characters go on for ever, and the state is the same after each.
  static constexpr uint8_t kFree = 1;
  static constexpr uint8_t kFreeBits = 0x0F;
  static constexpr uint8_t kOnePlain = 0x10;  // any plain character goes, and then it is over
  static constexpr uint8_t kGoesOn = 0x20;    // it may be longer

  explicit Automata(const Grammar& grammar);

  uint32_t next(uint32_t automaton, uint32_t state, uint8_t byte) const {
    if (automaton == kTexts) return grammar_.texts.next(state, byte);
    return grammar_.automata[automaton - 1]->next(state, byte);
  }
  bool accepts(uint32_t automaton, uint32_t state) const {
    if (automaton == kTexts) return grammar_.texts.accepts(state);
    return grammar_.automata[automaton - 1]->accepting[state];
  }
  bool goes_on(uint32_t automaton, uint32_t state) {
    if (automaton == kTexts) return grammar_.texts.goes_on(state);
    return (facts(automaton, state) & kGoesOn) != 0;
  }

  uint8_t facts(uint32_t automaton, uint32_t state) {
    if (automaton == kTexts) return 0;
    const uint8_t known = facts_[automaton - 1][state];
    return known != 0 ? static_cast<uint8_t>(known & ~kKnown) : find_facts(automaton - 1, state);
  }

  size_t memory_bytes() const { return memory_bytes_; }

 private:
  static constexpr uint8_t kKnown = 0x80;

  uint8_t find_facts(uint32_t automaton, uint32_t state);

  const Grammar& grammar_;
  std::vector<std::vector<uint8_t>> facts_;
  size_t memory_bytes_ = 0;
};

}  // namespace windrow::grammar
