// RangeNfa: a nondeterministic automaton, in the form of Thompson (1968), as it is built from
// regular expressions. determinise() makes a RangeDfa of it by the subset construction. Used by one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "grammar/lexeme/range_dfa.h"

namespace windrow::grammar {

class RangeNfa {
 public:
  using State = uint32_t;

  State add_state() { return states_count_++; }
  void add_edge(State from, CharRange on, State to) { edges_.push_back({from, on, to}); }
  void add_edge(State from, const CharSet& on, State to);

  // An edge without a symbol; with a place, one that may only be taken before the first symbol or
  // after the last.
  enum class Place : uint8_t { kAnywhere, kAtStart, kAtEnd };
  void add_free_edge(State from, State to, Place place = Place::kAnywhere) {
    free_.push_back({from, to, place});
    has_places_ = has_places_ || place != Place::kAnywhere;
  }

  size_t states_count() const { return states_count_; }

  struct Ends {
    State first = 0;
    State accepting = 0;
    std::optional<State> universal;  // a state from which every text is accepted
  };

  // Not minimal. kInvalid: it needs more than `states_max` states, or disproportionate memory on
  // the way there. kUnavailable: `give_up` returned true.
  Result<RangeDfa> determinise(const Ends& ends, size_t states_max,
                               const GiveUp& give_up = {}) const;

 private:
  friend class SubsetConstruction;

  struct Edge {
    State from = 0;
    CharRange on;
    State to = 0;
  };
  struct FreeEdge {
    State from = 0;
    State to = 0;
    Place place = Place::kAnywhere;
  };

  State states_count_ = 0;
  bool has_places_ = false;
  std::vector<Edge> edges_;
  std::vector<FreeEdge> free_;
};

}  // namespace windrow::grammar
