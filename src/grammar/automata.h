// Automata: the literal texts and the lexemes of a grammar, counted or not, behind one interface,
// with what is known of plain characters in their states. ByteClasses: which bytes a grammar does
// not tell apart. Both are immutable and may be used by any thread.
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

  // `grammar` outlives this. What is said of a counted state holds for texts of fewer than `reach`
  // bytes behind it.
  Automata(const Grammar& grammar, uint32_t reach);

  uint32_t next(uint32_t automaton, uint32_t state, uint8_t byte) const {
    if (automaton == kTexts) return grammar_.texts.next(state, byte);
    const CountedDfa* const counted = grammar_.counted[automaton - 1].get();
    if (counted != nullptr) return counted->next(state, byte);
    return grammar_.automata[automaton - 1]->next(state, byte);
  }
  bool accepts(uint32_t automaton, uint32_t state) const {
    if (automaton == kTexts) return grammar_.texts.accepts(state);
    const CountedDfa* const counted = grammar_.counted[automaton - 1].get();
    if (counted != nullptr) return counted->accepts(state);
    return grammar_.automata[automaton - 1]->accepting[state];
  }
  // Whether a byte can follow.
  bool goes_on(uint32_t automaton, uint32_t state) const {
    if (automaton == kTexts) return grammar_.texts.goes_on(state);
    const CountedDfa* const counted = grammar_.counted[automaton - 1].get();
    if (counted != nullptr) return counted->goes_on(state);
    return all_facts(automaton)[state].goes_on;
  }

  bool is_distinct(uint32_t automaton) const {
    return automaton != kTexts && grammar_.is_distinct[automaton - 1];
  }

  // Nothing is known of literal texts: these facts say nothing.
  PlainFacts facts(uint32_t automaton, uint32_t state) const {
    if (automaton == kTexts) return {};
    const CountedDfa* const counted = grammar_.counted[automaton - 1].get();
    if (counted != nullptr) return counted_facts(*counted, automaton, state);
    return all_facts(automaton)[state];
  }

  // Null for literal texts and lexemes that are not counted.
  const CountedDfa* counted(uint32_t automaton) const {
    return automaton == kTexts ? nullptr : grammar_.counted[automaton - 1].get();
  }

  // The state in which the same texts can follow, end and go on. Fewer states have the same one.
  uint32_t clipped(uint32_t automaton, uint32_t state) const {
    const CountedDfa* const counted = this->counted(automaton);
    return counted == nullptr ? state : counted->clipped(state, reach_);
  }

  // Whether all texts can follow that follow without counting.
  bool is_free(uint32_t automaton, uint32_t state) const {
    const CountedDfa* const counted = this->counted(automaton);
    return counted == nullptr || counted->is_free(state, reach_);
  }

  // Whether the minimum of its count, if there is one, forbids no text that does not end.
  bool keeps_min(uint32_t automaton, uint32_t state) const {
    const CountedDfa* const counted = this->counted(automaton);
    return counted == nullptr || counted->keeps_min(state);
  }

  // Whether it does not matter how many characters are counted until a text ends.
  bool counts_nothing(uint32_t automaton, uint32_t state) const {
    const CountedDfa* const counted = this->counted(automaton);
    return is_free(automaton, state) && (counted == nullptr || counted->ends_alike(state, reach_));
  }

  // Only for lexemes: the automaton without counts, and the state and the facts in it.
  const std::shared_ptr<const ByteDfa>& dfa(uint32_t automaton) const {
    return grammar_.automata[automaton - 1];
  }
  uint32_t dfa_state(uint32_t automaton, uint32_t state) const {
    const CountedDfa* const counted = this->counted(automaton);
    return counted == nullptr ? state : counted->place(state);
  }
  const std::vector<PlainFacts>& all_facts(uint32_t automaton) const {
    return *facts_[automaton - 1];
  }

  size_t memory_bytes() const { return facts_bytes_; }

 private:
  using Facts = std::vector<PlainFacts>;

  PlainFacts counted_facts(const CountedDfa& counted, uint32_t automaton, uint32_t state) const;

  const Grammar& grammar_;
  uint32_t reach_;
  std::vector<std::shared_ptr<const Facts>> facts_;  // lexemes with one automaton share them
  size_t facts_bytes_ = 0;
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
