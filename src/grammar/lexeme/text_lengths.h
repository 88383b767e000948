// CharCount: how many characters a text may have. TextLengths: with how many more characters a text
// can end, for each state of an automaton. Exact, immutable, any thread.
//
// Nearly always the lengths of a state are an interval, perhaps without an end. Whether they are is
// certain once every state's interval is the union of its successors' intervals, one longer, and of
// 0 if it accepts: only the true lengths fulfil these equations. For the states where that fails (a
// pattern of pairs has only even lengths), each length up to the maximum is worked out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/char_dfa.h"

namespace windrow::grammar {

struct CharCount {
  static constexpr uint32_t kEndless = UINT32_MAX;

  uint32_t min = 0;
  uint32_t max = kEndless;

  bool allows_all() const { return min == 0 && max == kEndless; }
  friend bool operator==(const CharCount&, const CharCount&) = default;
};

class TextLengths {
 public:
  using State = uint32_t;
  static constexpr uint32_t kEndless = CharCount::kEndless;

  // `dfa` is not empty. Its lengths are asked for within `count` only. kInvalid: the lengths of
  // states are no intervals, and there are too many of them.
  static Result<TextLengths> find(const CharDfa& dfa, const CharCount& count);

  // The same for a spelling in bytes. The first `between` states are those between characters. A
  // character that is begun counts as one of those to come.
  static Result<TextLengths> find(const ByteDfa& dfa, size_t between, const CharCount& count);

  uint32_t shortest(State state) const { return shortest_[state]; }
  uint32_t longest(State state) const { return longest_[state]; }  // kEndless: no end

  // Whether a text of `min` to `max` more characters can end, in a state that `n` characters lead
  // to, where `min` and `max` are those of the count less `n`, or 0 and kEndless instead.
  bool any(State state, uint32_t min, uint32_t max) const;

  // Of all states that can be reached from a state, with itself.
  struct Ahead {
    uint32_t shortest_max = 0;
    uint32_t longest_max = 0;  // of the states whose longest() has an end; 0 if there are none
    bool all_endless = true;   // none of them has an end
    bool gaps = false;         // the lengths of one have gaps that count
  };
  const Ahead& ahead(State state) const { return ahead_[state]; }

  size_t memory_bytes() const;

 private:
  class Finder;
  static constexpr uint32_t kNoRow = UINT32_MAX;

  std::vector<uint32_t> shortest_;
  std::vector<uint32_t> longest_;
  std::vector<Ahead> ahead_;
  std::vector<uint32_t> row_of_;  // by state, if any has gaps; else empty
  std::vector<uint64_t> rows_;    // a bit for each length up to the maximum of the count
  size_t row_words_ = 0;
};

}  // namespace windrow::grammar
