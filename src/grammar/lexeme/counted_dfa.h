// CountedDfa: an automaton over bytes with a counter of characters beside it: its texts of `min` to
// `max` characters. A product of automata would have a state for each of its states and each
// length; here a state is one number, made of a state and a count, and no table has it. Immutable,
// shared between grammars and threads.
//
// A character is what is between two of the first states of the automaton (byte_dfa.h), in however
// many bytes, an escape of JSON included. From every state but kDead an end can be reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/text_lengths.h"

namespace windrow::grammar {

class CountedDfa {
  struct Private {};  // only make() has one

 public:
  using State = uint32_t;
  static constexpr State kDead = UINT32_MAX;
  static constexpr State kFirst = 0;

  // `between`: how many states of `dfa` are between characters; they come first. A maximum that is
  // too large to be counted, a million characters at least, is kept by ending at the largest that
  // can be. kInvalid: the states are so many that less can be counted, or it is not to be told
  // which lengths are possible.
  static Result<std::shared_ptr<const CountedDfa>> make(std::shared_ptr<const ByteDfa> dfa,
                                                        size_t between, const CharCount& count);

  explicit CountedDfa(Private, TextLengths lengths) : lengths_(std::move(lengths)) {}

  // It has no text.
  bool empty() const { return !accepts(kFirst) && !goes_on(kFirst); }

  State next(State state, uint8_t byte) const;
  bool accepts(State state) const;
  bool goes_on(State state) const;  // a byte can follow
  bool goes_on_with(State state, std::string_view bytes) const;

  const std::shared_ptr<const ByteDfa>& dfa() const { return dfa_; }
  ByteDfa::State place(State state) const { return state % states_; }
  bool is_within_character(State state) const { return place(state) >= between_; }

  // --- what can be told of texts of fewer than `reach` bytes from a state on

  // The state of the same place, with a canonical count, from where the same texts can follow, end,
  // and go on.
  State clipped(State state, uint32_t reach) const;

  // Whether all texts can follow that follow in the automaton alone.
  bool is_free(State state, uint32_t reach) const;

  // Whether in all states that such a text leads to, the same ones can end as now.
  bool ends_alike(State state, uint32_t reach) const;

  // Whether the minimum forbids no text that does not end yet; however long.
  bool keeps_min(State state) const;

  // How many more characters there can be.
  uint32_t chars_left(State state) const;

  // If all texts can follow that follow in the automaton and have at most so many characters, that
  // number; else 0. `stays`: characters of these texts lead back to the same place.
  uint32_t free_chars(State state, bool stays) const;

  size_t memory_bytes() const { return sizeof(*this) + lengths_.memory_bytes(); }  // without dfa()

 private:
  uint32_t count_of(State state) const { return state / states_; }
  uint32_t min_left(uint32_t count) const { return count_.min > count ? count_.min - count : 0; }
  uint32_t max_left(uint32_t count) const {
    return count_.max == CharCount::kEndless ? count_.max : count_.max - count;
  }

  static uint32_t count_max(size_t states);
  bool max_is_far(State state, uint32_t reach) const;

  std::shared_ptr<const ByteDfa> dfa_;
  TextLengths lengths_;
  CharCount count_;
  uint32_t states_ = 0;
  uint32_t between_ = 0;
  uint32_t done_ = 0;  // instead of a count: every end is within the bounds
};

}  // namespace windrow::grammar
