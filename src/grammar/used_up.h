// UsedUp: distinct lexemes of which all texts were seen in a container, and what cannot follow
// there any more: a comma behind which an item must come, if none is left. Used by one thread at a
// time, with its recognizer.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "grammar/recognizer.h"

namespace windrow::grammar {

class UsedUp {
 public:
  // `automata`: those of the lexemes, sorted.
  UsedUp(const Recognizer& recognizer, std::vector<uint32_t> automata)
      : recognizer_(recognizer), automata_(std::move(automata)) {}

  // Whether the text cannot be here, if the lexemes are used up in the container that is the
  // `outward`-th around the position: 0 is the innermost.
  bool is_blocked(const Position& at, uint32_t outward) { return blocked(at, outward, 1); }

  // The same for the two innermost containers at once.
  bool is_blocked_in_two(const Position& at) { return blocked(at, 0, 2); }

  const std::vector<uint32_t>& automata() const { return automata_; }

  // States without the positions that are blocked in containers of a depth, for its user.
  boost::unordered_flat_map<std::pair<StateId, uint32_t>, StateId> states;

 private:
  enum class Passing : uint8_t { kOpen, kNo, kYes };
  using StackKey = std::pair<StackId, std::pair<uint32_t, uint32_t>>;

  bool has(uint32_t automaton) const;
  bool blocked(const Position& at, uint32_t outward, uint32_t containers);
  bool can_go_on(StackId stack, uint32_t outward, uint32_t containers, int depth);
  bool can_pass(uint32_t node, int depth);
  bool find_can_pass(const Grammar::Node& node, int depth);

  const Recognizer& recognizer_;
  const std::vector<uint32_t> automata_;
  boost::unordered_flat_map<uint32_t, Passing> nodes_;
  boost::unordered_flat_map<StackKey, bool> stacks_;
  bool cut_ = false;  // a node was asked for that is being looked at
};

}  // namespace windrow::grammar
