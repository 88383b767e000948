#include "grammar/recognizer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/hash.h"

namespace windrow::grammar {
namespace {

using Kind = Grammar::Node::Kind;

constexpr uint32_t kUnbounded = Grammar::kUnbounded;
constexpr uint32_t kPositionsFew = 8;

}  // namespace

Recognizer::Recognizer(std::shared_ptr<const Grammar> grammar, uint32_t reach)
    : grammar_(std::move(grammar)),
      reach_(reach),
      automata_(*grammar_, reach),
      classes_(*grammar_),
      closure_(*grammar_, automata_, stacks_) {
  keep_only({});
}

// --- steps ----------------------------------------------------------------------------------

void Recognizer::run_closure() {
  closure_.run();
  if (closure_.too_complex()) too_complex_ = true;
}

StateId Recognizer::intern_closure() {
  closure_.unite_positions();
  return intern(closure_.positions(), closure_.can_end());
}

std::span<const Position> Recognizer::positions_after(StackId stack) {
  closure_.begin();
  closure_.leave(stack);
  run_closure();
  return closure_.positions();
}

StateId Recognizer::after(std::span<const StackId> stacks) {
  closure_.begin();
  for (const StackId stack : stacks)
    closure_.leave(stack);
  run_closure();
  const StateId state = intern_closure();
  if (!closure_.too_complex()) return state;
  too_complex_ = true;
  return kDead;
}

StateId Recognizer::without_texts(StateId state) {
  if (states_[state].without_texts != kUnknown) return states_[state].without_texts;
  std::vector<Position> others;
  for (const Position& position : positions(state)) {
    if (!is_in_text(position)) others.push_back(position);
  }
  const StateId id = intern(others, states_[state].can_end);
  states_[state].without_texts = id;
  return id;
}

void Recognizer::remember_plain(StateId state) {
  const PlainState plain = find_plain_state(*this, state);
  states_[state].plain = plain;
  states_[state].plain_known = true;
}

StateId Recognizer::intern(std::span<const Position> positions, bool can_end) {
  const std::string_view bytes(reinterpret_cast<const char*>(positions.data()),
                               positions.size() * sizeof(Position));
  const uint64_t hash = hash64(bytes, can_end ? 1 : 0);
  const uint32_t found = table_.find(hash, [&](uint32_t id) {
    return states_[id].can_end == can_end && std::ranges::equal(this->positions(id), positions);
  });
  if (found != IdTable::kNone) return found;
  const StateId id = static_cast<StateId>(states_.size());
  states_.push_back({.positions_from = static_cast<uint32_t>(positions_.size()),
                     .positions_count = static_cast<uint32_t>(positions.size()),
                     .texts_count = static_cast<uint32_t>(std::ranges::count_if(
                         positions, [&](const Position& at) { return is_in_text(at); })),
                     .can_end = can_end});
  positions_.insert(positions_.end(), positions.begin(), positions.end());
  table_.insert(hash, id);
  return id;
}

StateId Recognizer::find_step(StateId state, uint32_t byte_class) {
  ++steps_found_;
  const uint32_t from = states_[state].positions_from;
  const uint32_t count = states_[state].positions_count;
  const auto next_of = [&](uint32_t index, uint32_t some_class) {
    const Position& at = positions_[from + index];
    return automata_.next(at.automaton, at.state, classes_.byte_of(some_class));
  };
  closure_.begin();
  next_states_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t next = next_of(i, byte_class);
    next_states_.push_back(next);
    if (next != Automata::kDead)
      closure_.arrive({positions_[from + i].automaton, next, positions_[from + i].stack});
  }
  run_closure();
  const StateId to = intern_closure();
  if (closure_.too_complex()) {
    too_complex_ = true;
    return kDead;
  }

  const bool is_first = states_[state].row == nullptr;
  if (is_first) {
    states_[state].row = new_row();
    if (count > kPositionsFew) find_dead(state);
  }
  StateId* const row = states_[state].row;
  row[byte_class] = to;
  // A second step from a state is often the first of many (a mask). Bytes that lead to the same
  // state in all positions are cheaper to see now than to find one by one.
  if (is_first || count > kPositionsFew) return to;
  for (uint32_t other = 0; other < classes_.count(); ++other) {
    if (row[other] != kUnknown) continue;
    uint32_t i = 0;
    while (i < count && next_of(i, other) == next_states_[i])
      ++i;
    if (i == count) row[other] = to;
  }
  return to;
}

StateId Recognizer::step_without(StateId state, uint8_t byte, std::span<const Ban> bans) {
  ++steps_found_;
  const uint32_t from = states_[state].positions_from;
  closure_.begin();
  for (uint32_t i = 0; i < states_[state].positions_count; ++i) {
    Position at = positions_[from + i];
    at.state = automata_.next(at.automaton, at.state, byte);
    if (at.state == Automata::kDead) continue;
    const bool is_banned = !bans.empty() && bans.front().position == i;
    closure_.arrive(at, !is_banned || !bans.front().goes_on, !is_banned || !bans.front().ends);
    if (is_banned) bans = bans.subspan(1);
  }
  run_closure();
  const StateId to = intern_closure();
  if (closure_.too_complex()) too_complex_ = true;
  return closure_.too_complex() ? kDead : to;
}

StateId Recognizer::without(StateId state, std::span<const uint32_t> left_out) {
  std::vector<Position> rest;
  for (uint32_t i = 0; i < states_[state].positions_count; ++i) {
    if (!left_out.empty() && left_out.front() == i) {
      left_out = left_out.subspan(1);
    } else {
      rest.push_back(positions_[states_[state].positions_from + i]);
    }
  }
  return intern(rest, states_[state].can_end);
}

// What lies below has a lower number.
Recognizer::Depths Recognizer::depths(StackId stack) {
  while (depths_.size() <= stack) {
    Depths all{.least = UINT32_MAX, .most = 0};
    for (const Frame& frame : stacks_.frames(static_cast<StackId>(depths_.size()))) {
      if (frame.node == Stacks::kEndNode) {
        all.least = 0;
        continue;
      }
      const uint32_t more = grammar_->nodes[frame.node].kind == Kind::kContainer ? 1 : 0;
      all.least = std::min(all.least, depths_[frame.below].least + more);
      all.most = std::max(all.most, depths_[frame.below].most + more);
    }
    depths_.push_back(all);
  }
  return depths_[stack];
}

StateId* Recognizer::new_row() {
  if (rows_in_block_ == kRowsPerBlock) {
    row_blocks_.push_back(
        std::make_unique_for_overwrite<StateId[]>(kRowsPerBlock * classes_.count()));
    rows_in_block_ = 0;
  }
  StateId* const row = row_blocks_.back().get() + rows_in_block_ * classes_.count();
  ++rows_in_block_;
  std::fill_n(row, classes_.count(), kUnknown);
  return row;
}

// With many positions, most bytes lead nowhere: one pass over the positions finds those.
void Recognizer::find_dead(StateId state) {
  std::vector<bool> alive(classes_.count());
  for (const Position& position : positions(state)) {
    if (position.automaton == Automata::kTexts) {
      grammar_->texts.for_each_byte(position.state,
                                    [&](uint8_t byte) { alive[classes_.of(byte)] = true; });
      continue;
    }
    for (uint32_t i = 0; i < classes_.count(); ++i) {
      if (automata_.next(position.automaton, position.state, classes_.byte_of(i)) !=
          Automata::kDead)
        alive[i] = true;
    }
  }
  StateId* const row = states_[state].row;
  for (uint32_t i = 0; i < classes_.count(); ++i) {
    if (!alive[i]) row[i] = kDead;
  }
}

TextTrie::Node Recognizer::name_node(StateId state) const {
  const std::span<const Position> here = positions(state);
  if (here.size() != 1 || here[0].automaton != Automata::kTexts || can_end(state) ||
      here[0].state < grammar_->names_from)
    return TextTrie::kNone;
  return here[0].state;
}

TextTrie::Node Recognizer::name_step(StateId state, TextTrie::Node node, uint8_t byte) const {
  const TextTrie::Node next = grammar_->texts.next(node, byte);
  if (next == TextTrie::kNone || !closure_.is_left(positions(state)[0].stack, next))
    return TextTrie::kNone;
  return next;
}

std::optional<uint8_t> Recognizer::only_byte(StateId state) {
  std::optional<uint8_t> only;
  for (uint32_t byte_class = 0; byte_class < classes_.count(); ++byte_class) {
    if (step_class(state, byte_class) == kDead) continue;
    if (only || classes_.bytes_in(byte_class) > 1) return std::nullopt;
    only = classes_.byte_of(byte_class);
  }
  return only;
}

// --- counters -------------------------------------------------------------------------------

StateId Recognizer::clipped(StateId state) {
  if (states_[state].clipped != kUnknown) return states_[state].clipped;
  std::vector<Position> same(positions(state).begin(), positions(state).end());
  for (Position& position : same) {
    position.state = automata_.clipped(position.automaton, position.state);
    position.stack = clipped_stack(position.stack);
  }
  std::sort(same.begin(), same.end());
  same.erase(std::unique(same.begin(), same.end()), same.end());
  const StateId id = intern(same, states_[state].can_end);
  states_[state].clipped = id;
  states_[id].clipped = id;
  return id;
}

// What lies below comes first, without recursion: stacks may be deep.
StackId Recognizer::clipped_stack(StackId wanted) {
  if (clipped_stacks_.empty()) clipped_stacks_.push_back(Stacks::kEnd);
  const auto known = [&](StackId stack) {
    return stack < clipped_stacks_.size() ? clipped_stacks_[stack] : kUnknown;
  };
  std::vector<StackId> todo = {wanted};
  std::vector<Frame> frames;
  while (!todo.empty()) {
    const StackId stack = todo.back();
    const size_t before = todo.size();
    frames.assign(stacks_.frames(stack).begin(), stacks_.frames(stack).end());
    if (known(stack) == kUnknown) {
      for (const Frame& frame : frames) {
        if (known(frame.below) == kUnknown) todo.push_back(frame.below);
      }
      if (todo.size() > before) continue;
      for (Frame& frame : frames) {
        frame.below = known(frame.below);
        if (frame.node == Stacks::kEndNode || grammar_->nodes[frame.node].kind != Kind::kRepeat)
          continue;
        frame.first = std::min(frame.first, reach_);
        if (frame.second != kUnbounded) frame.second = std::min(frame.second, reach_);
      }
      std::sort(frames.begin(), frames.end());
      frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
      const StackId id = stacks_.intern(frames);
      clipped_stacks_.resize(stacks_.count(), kUnknown);
      clipped_stacks_[stack] = id;
      clipped_stacks_[id] = id;
    }
    todo.pop_back();
  }
  return known(wanted);
}

// --- memory ---------------------------------------------------------------------------------

size_t Recognizer::memory_bytes() const {
  return sizeof(*this) + automata_.memory_bytes() + stacks_.memory_bytes() +
         clipped_stacks_.capacity() * sizeof(StackId) + depths_.capacity() * sizeof(Depths) +
         states_.capacity() * sizeof(State) + positions_.capacity() * sizeof(Position) +
         row_blocks_.size() * kRowsPerBlock * classes_.count() * sizeof(StateId) +
         table_.memory_bytes();
}

void Recognizer::keep_only(std::span<StateId* const> kept) {
  const Stacks old_stacks = std::exchange(stacks_, Stacks());
  const std::vector<State> old_states = std::exchange(states_, {});
  const std::vector<Position> old_positions = std::exchange(positions_, {});
  clipped_stacks_ = {};
  depths_ = {};
  ++numbering_;
  row_blocks_.clear();
  rows_in_block_ = kRowsPerBlock;
  table_.clear();

  intern({}, false);  // kDead
  closure_.begin();
  closure_.set_can_end(grammar_->nodes[grammar_->root].nullable);
  closure_.open(grammar_->root, Stacks::kEnd);
  run_closure();
  intern_closure();  // kFirst

  // Marks the stacks that are needed from the top down; then makes them anew from the bottom up.
  std::vector<bool> needed(old_stacks.count());
  for (const StateId* state : kept) {
    const State& old = old_states[*state];
    for (uint32_t i = 0; i < old.positions_count; ++i)
      needed[old_positions[old.positions_from + i].stack] = true;
  }
  for (size_t stack = needed.size(); stack-- > 1;) {
    if (!needed[stack]) continue;
    for (const Frame& frame : old_stacks.frames(static_cast<StackId>(stack)))
      needed[frame.below] = true;
  }
  std::vector<StackId> new_stacks(needed.size(), Stacks::kEnd);
  std::vector<Frame> frames;
  for (size_t stack = 1; stack < needed.size(); ++stack) {
    if (!needed[stack]) continue;
    const std::span<const Frame> old = old_stacks.frames(static_cast<StackId>(stack));
    frames.assign(old.begin(), old.end());
    for (Frame& frame : frames) {
      frame.below = new_stacks[frame.below];
      if (frame.node != Stacks::kEndNode && grammar_->nodes[frame.node].kind == Kind::kMembers)
        frame.first = stacks_.member_sets().intern(old_stacks.member_sets().members(frame.first));
    }
    std::sort(frames.begin(), frames.end());
    new_stacks[stack] = stacks_.intern(frames);
  }
  std::vector<Position> positions;
  for (StateId* state : kept) {
    const State& old = old_states[*state];
    if (*state == kDead) continue;
    positions.assign(old_positions.begin() + old.positions_from,
                     old_positions.begin() + old.positions_from + old.positions_count);
    for (Position& position : positions)
      position.stack = new_stacks[position.stack];
    std::sort(positions.begin(), positions.end());
    *state = intern(positions, old.can_end);
  }
}

}  // namespace windrow::grammar
