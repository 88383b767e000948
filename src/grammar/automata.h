// Automata: the literal texts and the lexemes of a grammar behind one interface, with what is known
// of plain characters in their states. ByteClasses: which bytes a grammar does not tell apart. Both
// are immutable and may be used by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "grammar/grammar_nodes.h"
#include "grammar/plain_facts.h"

namespace windrow::grammar {

class Automata {
 public:
  // The number of an automaton: all literal texts are one; lexeme i of the grammar is i + 1.
  static constexpr uint32_t kTexts = 0;
  static constexpr uint32_t kDead = UINT32_MAX;

  // `grammar` outlives this.
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
  // Whether a byte can follow.
  bool goes_on(uint32_t automaton, uint32_t state) const {
    if (automaton == kTexts) return grammar_.texts.goes_on(state);
    return facts_[automaton - 1][state].goes_on;
  }

  // Nothing is known of literal texts: these facts say nothing.
  const PlainFacts& facts(uint32_t automaton, uint32_t state) const {
    return automaton == kTexts ? nothing_ : facts_[automaton - 1][state];
  }

  // Only for lexemes.
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

// Classes of bytes: bytes that no automaton of a grammar tells apart have one class. Immutable.
class ByteClasses {
 public:
  explicit ByteClasses(const Grammar& grammar);

  uint32_t count() const { return static_cast<uint32_t>(byte_of_.size()); }  // 1 to 256
  uint32_t of(uint8_t byte) const { return class_of_[byte]; }

  // One byte of the class, and how many it has.
  uint8_t byte_of(uint32_t byte_class) const { return byte_of_[byte_class]; }
  uint32_t bytes_in(uint32_t byte_class) const { return bytes_in_[byte_class]; }

  // One byte for each class with a byte that begins_plain().
  std::span<const uint8_t> plain_firsts() const { return plain_firsts_; }

 private:
  std::vector<uint8_t> class_of_ = std::vector<uint8_t>(256);
  std::vector<uint8_t> byte_of_;
  std::vector<uint32_t> bytes_in_;
  std::vector<uint8_t> plain_firsts_;
};

}  // namespace windrow::grammar
