// RangeDfa: a deterministic automaton whose edges are ranges of symbols: code points in a CharDfa,
// bytes on the way to a ByteDfa. Plain data, and its algorithms. Pure.
//
// `minimal` refines a partition of the states until all of a block go to the same blocks. Only
// states that go to a block just split off are looked at again, and of a split block the largest
// part keeps its number, so a state is renumbered log n times at most (after Hopcroft, 1971).
// States are compared by their edges, neighbouring ranges to one block joined; so no alphabet is
// needed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "grammar/lexeme/char_set.h"
#include "grammar/lexeme/give_up.h"

namespace windrow::grammar {

struct RangeDfa {
  using State = uint32_t;
  static constexpr State kDead = UINT32_MAX;

  struct Edge {
    CharRange on;
    State to = 0;

    friend bool operator==(const Edge&, const Edge&) = default;
  };

  size_t states_count() const { return accepting.size(); }
  std::span<const Edge> edges_of(State state) const {
    return std::span(edges).subspan(edges_from[state], edges_from[state + 1] - edges_from[state]);
  }
  State next(State state, char32_t symbol) const;

  // To build one: begin the states in order, and add the edges of each by ascending symbols.
  // Neighbouring ranges to one state are joined.
  void begin_state(bool accepts);
  void add_edge(CharRange on, State to);

  friend bool operator==(const RangeDfa&, const RangeDfa&) = default;

  // State i has the edges from edges_from[i] up to edges_from[i + 1]: sorted, not touching each
  // other. State 0 is the first one.
  std::vector<Edge> edges;
  std::vector<uint32_t> edges_from{0};
  std::vector<bool> accepting;
};

// The smallest automaton of the same texts: all its states can be reached, and an accepting one
// from each of them. States are numbered breadth first, so equal languages give equal automata. If
// there is no text it has no states.
RangeDfa minimal(const RangeDfa& dfa);
// kUnavailable: `give_up` returned true.
Result<RangeDfa> minimal(const RangeDfa& dfa, const GiveUp& give_up);

enum class Combination : uint8_t { kBoth, kEither, kFirstOnly };

// The texts of both, of either, or of the first and not the second. Not minimal. kInvalid: it would
// have more than `states_max` states. kUnavailable: `give_up` returned true.
Result<RangeDfa> combine(const RangeDfa& a, const RangeDfa& b, Combination what, size_t states_max,
                         const GiveUp& give_up = {});

// The texts over code points that `dfa`, which is minimal, does not have. Minimal. Nothing where
// that takes more than turning the states round: some texts of `dfa` have all continuations. Most
// names of an object are undeclared ones, and this is how they are made.
std::optional<RangeDfa> complement(const RangeDfa& dfa);

// kInvalid, with a message for users.
Error too_many_states(size_t states_max);

}  // namespace windrow::grammar
