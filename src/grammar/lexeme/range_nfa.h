// RangeNfa: an automaton that may be in many states at once, in the form of Thompson (1968): what
// regular expressions and formats are built of, and `determinise` makes a RangeDfa of it by the
// subset construction. Used by one thread.
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

  // Without a symbol; perhaps only before the first one, or only behind the last.
  enum class Place : uint8_t { kAnywhere, kAtStart, kAtEnd };
  void add_free_edge(State from, State to, Place place = Place::kAnywhere) {
    free_.push_back({from, to, place});
    has_places_ = has_places_ || place != Place::kAnywhere;
  }

  size_t states_count() const { return states_count_; }

  struct Ends {
    State first = 0;
    State accepting = 0;
    // Behind this one nothing matters: every text is accepted from it.
    std::optional<State> universal;
  };

  // Not minimal. None where it needs more than `states_max` states, or out of proportion much room
  // on the way there.
  std::optional<RangeDfa> determinise(const Ends& ends, size_t states_max) const;

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
