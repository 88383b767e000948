// Automata: the literal texts and lexemes of a grammar as one kind of thing. Immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grammar/grammar_nodes.h"
#include "grammar/plain_facts.h"

namespace windrow::grammar {

class Automata {
 public:
  static constexpr uint32_t kTexts = 0;  // all literal texts; lexeme i of the grammar is i + 1
  static constexpr uint32_t kDead = UINT32_MAX;

  explicit Automata(const Grammar& grammar) : grammar_(grammar) {
    for (const auto& dfa : grammar.automata)
      facts_.push_back(find_plain_facts(*dfa));
  }

  uint32_t next(uint32_t automaton, uint32_t state, uint8_t byte) const {
    if (automaton == kTexts) return grammar_.texts.next(state, byte);
    return grammar_.automata[automaton - 1]->next(state, byte);
  }
  bool accepts(uint32_t automaton, uint32_t state) const {
    if (automaton == kTexts) return grammar_.texts.accepts(state);
    return grammar_.automata[automaton - 1]->accepting[state];
  }
  bool goes_on(uint32_t automaton, uint32_t state) const {
    if (automaton == kTexts) return grammar_.texts.goes_on(state);
    return facts_[automaton - 1][state].goes_on;
  }

  // Of a text nothing is known, that is, nothing said.
  const PlainFacts& facts(uint32_t automaton, uint32_t state) const {
    return automaton == kTexts ? nothing_ : facts_[automaton - 1][state];
  }

  // Of a lexeme.
  const std::shared_ptr<const ByteDfa>& dfa(uint32_t automaton) const {
    return grammar_.automata[automaton - 1];
  }
  const std::vector<PlainFacts>& all_facts(uint32_t automaton) const {
    return facts_[automaton - 1];
  }

  size_t memory_bytes() const {
    size_t bytes = 0;
    for (const std::vector<PlainFacts>& facts : facts_)
      bytes += facts.capacity() * sizeof(PlainFacts);
    return bytes;
  }

 private:
  const Grammar& grammar_;
  std::vector<std::vector<PlainFacts>> facts_;
  PlainFacts nothing_;
};

}  // namespace windrow::grammar
