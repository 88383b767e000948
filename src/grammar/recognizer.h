// Recognizer: runs a grammar byte by byte. A state is the set of all positions where the text so
// far can be: in a lexeme, with a stack of what comes after it (closure.h). States are numbered
// when they are first met and their transitions remembered, so it is a deterministic automaton that
// is built while it is used (as in RE2: Cox, 2010). Bytes that the grammar does not tell apart
// share transitions.
//
// Exact for ambiguous grammars, in polynomial space: positions that differ only in what comes after
// them are one. Invariant: from every state but kDead, some text leads to an end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "grammar/automata.h"
#include "grammar/closure.h"
#include "grammar/grammar_nodes.h"
#include "grammar/lexeme/hash_tables.h"
#include "grammar/plain_facts.h"
#include "grammar/stacks.h"

namespace windrow::grammar {

using StateId = uint32_t;

// What is known of plain characters (plain_facts.h) in a state. With it, a mask takes whole groups
// of tokens without looking at each (mask_walk.h).
struct PlainState {
  // Bit i: after i bytes that complete a begun character, all plain characters continue the text.
  uint8_t free_after = 0;
  uint32_t free_chars = 0;  // at least so many plain characters may follow, whichever they are
  ByteKinds dangers = ByteKinds::all();  // any number of other kinds may follow
};

// Used by one thread at a time.
class Recognizer {
 public:
  static constexpr StateId kDead = 0;
  static constexpr StateId kFirst = 1;
  static constexpr uint32_t kReachMax = UINT32_MAX;

  // clipped() and what is said of plain characters hold for `reach` bytes that follow a state.
  explicit Recognizer(std::shared_ptr<const Grammar> grammar, uint32_t reach = kReachMax);
  Recognizer(const Recognizer&) = delete;
  Recognizer& operator=(const Recognizer&) = delete;

  // The state after one more byte; kDead if no text of the grammar goes on like this.
  StateId step(StateId state, uint8_t byte) { return step_class(state, classes_.of(byte)); }

  // The same for a class of bytes.
  const ByteClasses& classes() const { return classes_; }
  StateId step_class(StateId state, uint32_t byte_class) {
    const StateId* const row = states_[state].row;
    if (row != nullptr && row[byte_class] != kUnknown) return row[byte_class];
    return find_step(state, byte_class);
  }

  bool can_end(StateId state) const { return states_[state].can_end; }
  bool goes_on(StateId state) const { return states_[state].positions_count > 0; }

  // Valid until the next step, as are frames().
  std::span<const Position> positions(StateId state) const {
    return {positions_.data() + states_[state].positions_from, states_[state].positions_count};
  }
  std::span<const Frame> frames(StackId stack) const { return stacks_.frames(stack); }

  // Where a text may be when something with this stack is over. Valid until the next step.
  std::span<const Position> positions_after(StackId stack);

  // The state where things with these stacks are over, and nothing else; maybe kDead.
  StateId after(std::span<const StackId> stacks);

  // Whether a position is in a literal text, but for names of members, of which some may be written
  // already.
  bool is_in_text(const Position& position) const {
    return position.automaton == Automata::kTexts && position.state < grammar_->names_from;
  }

  // How many positions are in literal texts; and the state of all others. What may follow in it or
  // along those texts may follow in the whole.
  uint32_t texts_count(StateId state) const { return states_[state].texts_count; }
  StateId without_texts(StateId state);

  // --- for distinct lexemes (distinct_lexemes.h)

  // What the reading at a position may not do after a step: go on within its lexeme, end there.
  struct Ban {
    uint32_t position = 0;  // of positions(), in order
    bool goes_on = false;
    bool ends = false;
  };

  // As step(), without some readings. Not remembered.
  StateId step_without(StateId state, uint8_t byte, std::span<const Ban> bans);

  // The state without some of its positions, in order; kDead if nothing is left.
  StateId without(StateId state, std::span<const uint32_t> left_out);

  // In how many containers something with this stack is; readings may differ.
  struct Depths {
    uint32_t least = 0;
    uint32_t most = 0;
  };
  Depths depths(StackId stack);

  // As Closure.
  template <class OtherCan>
  bool can_write_member(const Frame& frame, const OtherCan& other_can) const {
    return closure_.can_write_member(frame, other_can);
  }

  // Changes when states get new numbers.
  uint64_t numbering() const { return numbering_; }

  // --- limits

  // Whether a step since the last reset could not be made: so many readings were alive at once that
  // following them had no end in sight. Such a step leads to kDead and is not remembered.
  bool too_complex() const { return too_complex_; }
  void reset_too_complex() { too_complex_ = false; }
  void set_too_complex() { too_complex_ = true; }

  // If the state is only within names of members in any order: the node of the texts it is at, in a
  // tree that goes on. kNone for others. Steps from there need no states of their own: with
  // name_step() a mask looks at thousands of names at little cost.
  TextTrie::Node name_node(StateId state) const;

  // The node behind one more byte, of a name that may still be written in `state`; kNone if there
  // is none.
  TextTrie::Node name_step(StateId state, TextTrie::Node node, uint8_t byte) const;

  // The one byte that can follow, if there is only one; nothing also if the text cannot continue.
  std::optional<uint8_t> only_byte(StateId state);

  // The state with counters no higher than can matter within reach.
  StateId clipped(StateId state);

  const PlainState& plain(StateId state) {
    if (!states_[state].plain_known) remember_plain(state);
    return states_[state].plain;
  }

  const Grammar& grammar() const { return *grammar_; }
  const Automata& automata() const { return automata_; }

  size_t memory_bytes() const;
  size_t steps_found() const { return steps_found_; }  // steps so far that were not remembered
  size_t member_sets_count() const { return stacks_.member_sets().count(); }

  // Forgets all states but these, which get new numbers in place. kDead and kFirst keep theirs.
  void keep_only(std::span<StateId* const> kept);

 private:
  static constexpr StateId kUnknown = UINT32_MAX;
  static constexpr size_t kRowsPerBlock = 256;

  struct State {
    uint32_t positions_from = 0;
    uint32_t positions_count = 0;
    uint32_t texts_count = 0;
    StateId* row = nullptr;      // in row_blocks_: where each class leads
    StateId clipped = kUnknown;  // when known
    StateId without_texts = kUnknown;
    PlainState plain;
    bool can_end = false;
    bool plain_known = false;
  };

  StateId find_step(StateId state, uint32_t byte_class);
  void find_dead(StateId state);
  StateId* new_row();
  void run_closure();
  StateId intern_closure();
  StateId intern(std::span<const Position> positions, bool can_end);
  StackId clipped_stack(StackId stack);
  void remember_plain(StateId state);

  std::shared_ptr<const Grammar> grammar_;
  uint32_t reach_;
  Automata automata_;
  ByteClasses classes_;

  Stacks stacks_;
  std::vector<StackId> clipped_stacks_;
  std::vector<Depths> depths_;  // by stack, as far as they were asked for
  std::vector<State> states_;
  std::vector<Position> positions_;
  std::vector<std::unique_ptr<StateId[]>> row_blocks_;  // nothing is moved when they grow
  size_t rows_in_block_ = kRowsPerBlock;
  IdTable table_;
  size_t steps_found_ = 0;
  uint64_t numbering_ = 0;
  bool too_complex_ = false;

  Closure closure_;
  std::vector<uint32_t> next_states_;
};

// --- plain characters in a state (plain_states.cc)

// Remembered by Recognizer::plain().
PlainState find_plain_state(Recognizer& recognizer, StateId state);

// A text of plain characters continues in this state exactly if it has at most `chars` characters
// (Grammar::kUnbounded: always); and if no more than `reach` follow, the state after it is the
// same.
struct PlainLoop {
  bool is_one = false;  // else nothing is said
  uint32_t chars = 0;
  bool same_behind = false;
};
PlainLoop find_plain_loop(Recognizer& recognizer, StateId state, uint32_t reach);

// The one position whose lexeme plain characters continue in, if nothing after it takes any: which
// texts of them continue then depends on nothing else. Its automaton is not kTexts, and the minimum
// of its count forbids none of them. Null if there is none. Valid until the next step of the
// recognizer.
const Position* find_plain_lexeme(Recognizer& recognizer, StateId state);

}  // namespace windrow::grammar
