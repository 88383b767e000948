// Recognizer: which bytes may follow, byte by byte. A state is the set of all places where a text
// so far can be: in a lexeme, and what is to come behind it (stacks.h). States are numbered when
// they are met first and their transitions remembered, so it is a deterministic automaton that is
// built while it is used (as RE2 does it: Cox, 2010), over an infinite language. Bytes that the
// grammar tells apart nowhere share transitions.
//
// Exact for ambiguous grammars, in polynomial space: places that differ only in what is behind them
// are one place. Every state but kDead has a text that leads to an end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "grammar/automata.h"
#include "grammar/grammar_nodes.h"
#include "grammar/id_table.h"
#include "grammar/seen_set.h"
#include "grammar/stacks.h"

namespace windrow::grammar {

using StateId = uint32_t;

// Used by one thread at a time.
class Recognizer {
 public:
  static constexpr StateId kDead = 0;
  static constexpr StateId kFirst = 1;

  struct Place {
    uint32_t automaton = 0;
    uint32_t state = 0;
    StackId stack = Stacks::kEnd;

    friend auto operator<=>(const Place&, const Place&) = default;
  };

  // What holds of plain characters in a state (plain_facts.h).
  struct Plain {
    uint8_t free_after = 0;  // bit i: i bytes on, when a begun character is over, all plain ones go
    uint32_t free_chars = 0;  // at least so many plain characters may follow, whichever
    ByteKinds dangers = ByteKinds::all();  // of other kinds any number may follow
  };

  explicit Recognizer(std::shared_ptr<const Grammar> grammar);

  StateId step(StateId state, uint8_t byte) { return step_class(state, class_of_[byte]); }

  // The same for classes of bytes; each has a byte that stands for it.
  uint32_t classes_count() const { return static_cast<uint32_t>(byte_of_.size()); }
  StateId step_class(StateId state, uint32_t byte_class) {
    const StateId* const row = states_[state].row;
    if (row != nullptr && row[byte_class] != kUnknown) return row[byte_class];
    return find_step(state, byte_class);
  }

  bool can_end(StateId state) const { return states_[state].can_end; }
  std::span<const Place> places(StateId state) const {
    return {places_.data() + states_[state].places_from, states_[state].places_count};
  }
  bool goes_on(StateId state) const { return states_[state].places_count > 0; }

  // Whether a step since the last reset could not be made: so many readings were alive at once that
  // going through them had no end in sight. Such a step leads to kDead and is not remembered.
  bool too_complex() const { return too_complex_; }
  void reset_too_complex() { too_complex_ = false; }

  // The one byte that can follow, if it is one, and the text goes on at all.
  std::optional<uint8_t> only_byte(StateId state);

  // The state with counters no higher than can matter for `reach` bytes. Always with the same.
  StateId clipped(StateId state, uint32_t reach);

  const Plain& plain(StateId state) {
    if (!states_[state].plain_known) find_plain(state);
    return states_[state].plain;
  }

  // Of plain characters exactly those texts go on that have at most `chars` of them (kUnbounded:
  // all); and as long as no more than `reach` follow, the state behind such a text is this one.
  struct PlainLoop {
    bool is_one = false;
    uint32_t chars = 0;
    bool same_behind = false;
  };
  PlainLoop plain_loop(StateId state, uint32_t reach);

  // The one place whose lexeme plain characters go on in, when nothing behind it takes any: which
  // texts of them go on then depends on nothing else. Its automaton is no kTexts.
  const Place* plain_lexeme(StateId state);
  const Automata& automata() const { return automata_; }

  size_t memory_bytes() const;
  size_t steps_found() const { return steps_found_; }  // so far: what was not remembered

  // Forgets all states but these, which get new numbers in place (kDead and kFirst keep theirs).
  void keep_only(std::span<StateId* const> kept);

 private:
  static constexpr StateId kUnknown = UINT32_MAX;
  static constexpr size_t kRowsPerBlock = 256;

  struct State {
    uint32_t places_from = 0;
    uint32_t places_count = 0;
    StateId* row = nullptr;      // in row_blocks_: where each class leads
    StateId clipped = kUnknown;  // when known
    Plain plain;
    bool can_end = false;
    bool plain_known = false;
  };

  using Node = Grammar::Node;

  void find_classes();
  void find_ranks();
  StateId find_step(StateId state, uint32_t byte_class);
  void find_dead(StateId state);
  StateId* new_row();
  void find_plain(StateId state);
  bool dies_on_plain(const Place& place) const;
  bool others_die_on_plain(StateId state, const Place& loop) const;
  bool same_but_for(const Place& loop, StateId a, StateId b) const;
  uint32_t repeated_plain(const Place& place);
  bool comes_again(StateId state, const Place& place);
  bool repeats(const Frame& frame, uint32_t automaton) const;
  bool nothing_plain_behind(StackId stack);
  bool contains(StateId state, const Place& place) const;

  // Everything that may come next, collected in found_ and found_end_.
  void begin_closure();
  void arrive(const Place& place);  // a place somewhere in its lexeme
  void expand(uint32_t node, StackId stack);
  void resume(StackId stack);
  void run_closure();
  void expand_first();
  void open(uint32_t node, StackId stack);
  void leave(StackId stack);
  void go_on(const Frame& frame);
  StateId intern_found();
  StateId intern(std::span<const Place> places, bool can_end);

  StackId behind(uint32_t sequence, uint32_t next_child, StackId below);
  StackId again(uint32_t repeat, uint32_t needed, uint32_t allowed, StackId below);
  StackId clipped_stack(StackId stack, uint32_t reach);

  std::shared_ptr<const Grammar> grammar_;
  Automata automata_;
  std::vector<uint8_t> class_of_ = std::vector<uint8_t>(256);
  std::vector<uint8_t> byte_of_;
  std::vector<uint32_t> bytes_in_;
  std::vector<uint8_t> plain_firsts_;  // one of each class with a byte that begins_plain()

  Stacks stacks_;
  std::vector<StackId> clipped_stacks_;
  std::vector<State> states_;
  std::vector<Place> places_;
  std::vector<std::unique_ptr<StateId[]>> row_blocks_;  // nothing is moved when they grow
  size_t rows_in_block_ = kRowsPerBlock;
  IdTable table_;
  size_t steps_found_ = 0;

  // The nodes that are opened, each with all of its stacks before any that it opens itself: so each
  // is gone into once, however many ways lead to it. A heap, the lowest rank on top.
  struct Task {
    uint32_t rank = 0;
    uint32_t node = 0;
    StackId stack = 0;
  };
  static bool is_later(const Task& a, const Task& b) { return a.rank > b.rank; }
  std::vector<Task> tasks_;
  std::vector<StackId> leaving_;  // what is over goes on with these
  std::vector<uint32_t> ranks_;   // of nodes: higher than of all that open them
  size_t work_ = 0;               // of this step
  const size_t work_max_;
  bool too_complex_ = false;
  SeenSet seen_;
  std::vector<Place> found_;
  bool found_end_ = false;
  std::vector<uint32_t> next_states_;
};

}  // namespace windrow::grammar
