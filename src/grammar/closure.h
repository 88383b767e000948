// Closure: everything that may come next after a step of the Recognizer: the positions that are
// reached without reading a byte, by opening what begins and resuming what comes after what is
// over. Reused for each step, so that a step allocates nothing. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/automata.h"
#include "grammar/grammar_nodes.h"
#include "grammar/lexeme/hash_tables.h"
#include "grammar/stacks.h"

namespace windrow::grammar {

// Where a text can be in a grammar: in a state of an automaton, with a stack of what comes after
// it.
struct Position {
  uint32_t automaton = 0;
  uint32_t state = 0;
  StackId stack = Stacks::kEnd;

  friend auto operator<=>(const Position&, const Position&) = default;
};

class Closure {
 public:
  // All outlive this. New stacks are made in `stacks`.
  Closure(const Grammar& grammar, const Automata& automata, Stacks& stacks);

  // --- a step: begin(), any number of the next three, run()

  void begin();
  void arrive(const Position& position) { arrive(position, true, true); }

  // The text is here, in a lexeme, if it may go on in it; and at its end, if it may end.
  void arrive(const Position& position, bool may_go_on, bool may_end);
  void open(uint32_t node, StackId stack);
  void leave(StackId stack);  // something is over; this comes after it
  void run();

  // Whether a name below this node of the texts may still be written, with such a stack.
  bool is_left(StackId stack, TextTrie::Node node) const;

  // Joins positions that differ only in their stacks, and sorts them.
  void unite_positions();

  // Whether a member can come, where one must: a declared one, or another if `other_can`, which is
  // asked only where others may come. Of a frame of members.
  template <class OtherCan>
  bool can_write_member(const Frame& frame, const OtherCan& other_can) const {
    if (!MembersFrame::of(frame).before_name) return true;
    const Grammar::Members& members = grammar_.members[grammar_.nodes[frame.node].members];
    return may_write(frame, {0, members.count}) || (may_write_other(frame) && other_can());
  }

  // --- the result, valid until begin()

  std::span<const Position> positions() const { return positions_; }
  bool can_end() const { return can_end_; }
  void set_can_end(bool can_end) { can_end_ = can_end; }

  // So many readings are alive at once that following them has no end in sight; the result is
  // incomplete.
  bool too_complex() const { return work_ > work_max_; }

 private:
  // A node to open. Each is opened after all nodes that open it, with all of its stacks at once, so
  // it is expanded once, however many ways lead to it. A heap, the lowest rank on top.
  struct Task {
    uint32_t rank = 0;
    uint32_t node = 0;
    StackId stack = 0;
  };
  static bool is_later(const Task& a, const Task& b) { return a.rank > b.rank; }

  void expand_first();
  void expand(uint32_t node, StackId stack);
  void resume(const Frame& frame);
  StackId rest_of_sequence(uint32_t sequence, uint32_t next_child, StackId below);
  StackId rest_of_repeat(uint32_t repeat, uint32_t needed, uint32_t allowed, StackId below);

  // Members in any order (closure_members.cc).
  struct MembersRoom;
  MembersRoom room_for_members(uint32_t node, const MembersFrame& at) const;
  bool may_write_other(const Frame& before) const;
  bool may_write(const Frame& before, TextTrie::Range range) const;
  void resume_members(const Frame& frame);
  MemberSetId written_but_from(const Grammar::Members& members, size_t rank);
  void begin_members(uint32_t number, StackId below);
  void expand_members(uint32_t node, const MembersFrame& at, StackId below);
  void arrive_in_name(const Position& position);

  const Grammar& grammar_;
  const Automata& automata_;
  Stacks& stacks_;
  const std::vector<uint32_t> ranks_;  // by node: higher than the ranks of all that open it
  const size_t work_max_;

  std::vector<Task> tasks_;
  std::vector<StackId> leaving_;  // stacks to resume
  SeenSet seen_;
  std::vector<Position> positions_;
  bool can_end_ = false;
  size_t work_ = 0;
};

}  // namespace windrow::grammar
