// CharDfa: a regular set of texts as a deterministic automaton over code points. Invariant: it is
// minimal and trimmed: every state can be reached, and from every state an accepting one.
// Immutable, any thread; a copy is the same automaton.
//
// Operations whose result can grow fail at `states_max` states, so that no schema can exhaust
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/lexeme/give_up.h"
#include "grammar/lexeme/range_dfa.h"

namespace windrow::grammar {

struct ByteDfa;

class CharDfa {
 public:
  using State = RangeDfa::State;
  using Edge = RangeDfa::Edge;

  static constexpr size_t kStatesMax = 20'000;  // the default limit

  CharDfa() = default;                    // no text at all
  explicit CharDfa(const RangeDfa& dfa);  // over code points
  static CharDfa of_minimal(RangeDfa ranges);
  static CharDfa nothing() { return CharDfa(); }
  static CharDfa any_text();                                         // every text
  static CharDfa one_of(const CharSet& set);                         // one character
  static CharDfa literals(std::span<const std::string_view> texts);  // UTF-8; exactly these

  // The same for lists of any size. kInvalid: more than `states_max` states. kUnavailable:
  // `give_up` returned true.
  static Result<CharDfa> literals(std::span<const std::string_view> texts, size_t states_max,
                                  const GiveUp& give_up);

  // All texts of `min` to `max` characters; without a maximum, of any more.
  static Result<CharDfa> length(uint32_t min, std::optional<uint32_t> max,
                                size_t states_max = kStatesMax);

  // kInvalid: the result, or a step to it, needs more than `states_max` states. kUnavailable:
  // `give_up` returned true.
  Result<CharDfa> intersect(const CharDfa& other, size_t states_max = kStatesMax,
                            const GiveUp& give_up = {}) const;
  Result<CharDfa> unite(const CharDfa& other, size_t states_max = kStatesMax,
                        const GiveUp& give_up = {}) const;
  Result<CharDfa> without(const CharDfa& other, size_t states_max = kStatesMax,
                          const GiveUp& give_up = {}) const;

  bool empty() const { return states_count() == 0; }  // it has no text
  bool contains(std::string_view utf8) const;

  // State 0 is the first one. There are no states if empty().
  size_t states_count() const { return ranges().states_count(); }
  bool accepts(State state) const { return ranges().accepting[state]; }
  std::span<const Edge> edges(State state) const { return ranges().edges_of(state); }  // sorted
  State next(State state, char32_t character) const { return ranges().next(state, character); }
  const RangeDfa& ranges() const;  // minimal

  // Whether they have the same texts.
  friend bool operator==(const CharDfa& a, const CharDfa& b) {
    return a.shared_ == b.shared_ || a.ranges() == b.ranges();
  }

 private:
  friend std::shared_ptr<const ByteDfa> json_string_dfa(const CharDfa& dfa);

  struct Shared {
    RangeDfa ranges;
    std::once_flag json_once;
    std::shared_ptr<const ByteDfa> json;
  };

  Result<CharDfa> combined(const CharDfa& other, Combination what, size_t states_max,
                           const GiveUp& give_up) const;

  std::shared_ptr<Shared> shared_;  // null: no text
};

}  // namespace windrow::grammar
