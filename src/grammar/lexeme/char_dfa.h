// CharDfa: a regular set of texts as a deterministic automaton over code points. It is minimal and
// trimmed: every state can be reached, and from every state an accepting one. Immutable; pure.
//
// Operations that can grow give up at `states_max`, so that no schema can take the machine's
// memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/lexeme/char_set.h"

namespace windrow::grammar {

class CharDfa {
 public:
  using State = uint32_t;

  struct Edge {
    CharRange on;
    State to = 0;
  };

  // Where no limit is given.
  static constexpr size_t kStatesMax = 20'000;

  static CharDfa nothing();                                          // no text at all
  static CharDfa any_text();                                         // every text
  static CharDfa one_of(const CharSet& set);                         // one character
  static CharDfa literals(std::span<const std::string_view> texts);  // UTF-8; exactly these

  // So many characters, whichever; no maximum: any more.
  static CharDfa length(uint32_t min, std::optional<uint32_t> max);

  // kInvalid where the result would have more states than `states_max`.
  Result<CharDfa> intersect(const CharDfa& other, size_t states_max = kStatesMax) const;
  Result<CharDfa> unite(const CharDfa& other, size_t states_max = kStatesMax) const;
  Result<CharDfa> without(const CharDfa& other, size_t states_max = kStatesMax) const;

  bool empty() const { return accepting_.empty(); }  // it has no text
  bool contains(std::string_view utf8) const;

  // State 0 is the first one. There is none when `empty()`.
  size_t states_count() const { return accepting_.size(); }
  bool accepts(State state) const { return accepting_[state]; }
  std::span<const Edge> edges(State state) const;  // sorted, apart from each other

 private:
  std::vector<Edge> edges_;
  std::vector<uint32_t> edges_from_;  // of state i: edges_[edges_from_[i]] up to the next's
  std::vector<bool> accepting_;
};

}  // namespace windrow::grammar
