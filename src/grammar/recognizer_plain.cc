// What holds of plain characters in the states of a Recognizer.
#include <algorithm>

#include "grammar/recognizer.h"

namespace windrow::grammar {
namespace {

using Kind = Grammar::Node::Kind;

constexpr uint32_t kPlainUnbounded = Grammar::kUnbounded;

uint32_t one_more(uint32_t times) {
  return times == kPlainUnbounded ? times : times + 1;
}

}  // namespace

bool Recognizer::dies_on_plain(const Place& place) const {
  return std::all_of(plain_firsts_.begin(), plain_firsts_.end(), [&](uint8_t byte) {
    return automata_.next(place.automaton, place.state, byte) == Automata::kDead;
  });
}

// Whether a frame begins the lexeme anew, as one that is any one plain character.
bool Recognizer::repeats(const Frame& frame, uint32_t automaton) const {
  if (frame.node == Stacks::kEndNode || !automata_.facts(automaton, 0).any_char()) return false;
  const Node& node = grammar_->nodes[frame.node];
  if (node.kind != Kind::kRepeat) return false;
  const auto is_it = [&](uint32_t child) {
    const Node& body = grammar_->nodes[child];
    return body.kind == Kind::kLexeme && body.first + 1 == automaton;
  };
  const uint32_t child = grammar_->children[node.first];
  const Node& body = grammar_->nodes[child];
  if (body.kind != Kind::kChoice) return is_it(child);
  const uint32_t* const bodies = grammar_->children.data() + body.first;
  return std::any_of(bodies, bodies + body.count, is_it);
}

bool Recognizer::contains(StateId state, const Place& place) const {
  return std::ranges::binary_search(places(state), place);
}

// In a place whose lexeme is one plain character: whether it is the same place behind it.
bool Recognizer::comes_again(StateId state, const Place& place) {
  for (const uint8_t byte : plain_firsts_) {
    if (byte < 0x80 && automata_.next(place.automaton, place.state, byte) != Automata::kDead)
      return contains(step(state, byte), place);
  }
  return false;
}

// In a place whose lexeme is any one plain character: how many may follow at least.
uint32_t Recognizer::repeated_plain(const Place& place) {
  uint32_t most = 1;
  for (const Frame& frame : stacks_.frames(place.stack)) {
    if (repeats(frame, place.automaton)) most = std::max(most, one_more(frame.second));
  }
  return most;
}

void Recognizer::find_plain(StateId state) {
  Plain plain;
  const std::vector<Place> here(places(state).begin(), places(state).end());
  for (const Place& place : here) {
    const PlainFacts& facts = automata_.facts(place.automaton, place.state);
    plain.free_after |= facts.free_behind;
    ByteKinds dangers = facts.dangers;
    uint32_t chars = facts.free_chars;
    if (facts.one_char && comes_again(state, place)) dangers = facts.dangers_here;
    if (facts.any_char()) chars = repeated_plain(place);
    if (dangers.empty()) chars = kPlainUnbounded;
    plain.free_chars = std::max(plain.free_chars, chars);
    if (dangers.count() < plain.dangers.count()) plain.dangers = dangers;
  }
  if (plain.free_chars == kPlainUnbounded) plain.free_after |= 1;
  states_[state].plain = plain;
  states_[state].plain_known = true;
}

Recognizer::PlainLoop Recognizer::plain_loop(StateId state, uint32_t reach) {
  const uint32_t free_chars = plain(state).free_chars;
  if (free_chars == 0) return {};
  const std::vector<Place> here(places(state).begin(), places(state).end());
  const Place* alive = nullptr;  // behind a plain character
  bool is_one = true;
  for (const Place& place : here) {
    if (dies_on_plain(place)) continue;
    is_one = alive == nullptr;
    alive = &place;
  }
  const PlainFacts& facts = automata_.facts(alive->automaton, alive->state);
  const StateId next = step(state, 'a');
  PlainLoop loop = {.is_one = true, .chars = free_chars};
  // Behind every plain character it is the same state where there is one place, and that leads to
  // one place.
  if (free_chars == kPlainUnbounded) {
    loop.same_behind = is_one && (facts.loops || facts.any_char()) && next == state;
    return loop;
  }
  if (!is_one) return {};
  if (!facts.any_char())
    return facts.exactly && nothing_plain_behind(alive->stack) ? loop : PlainLoop();
  if (stacks_.frames_count(alive->stack) != 1) return {};
  const Frame frame = stacks_.frame(alive->stack, 0);
  if (!repeats(frame, alive->automaton))
    return nothing_plain_behind(alive->stack) ? loop : PlainLoop();
  if (alive->state != 0 || !others_die_on_plain(next, *alive) || !nothing_plain_behind(frame.below))
    return {};
  loop.same_behind = frame.first == 0 && frame.second >= reach && same_but_for(*alive, state, next);
  return loop;
}

const Recognizer::Place* Recognizer::plain_lexeme(StateId state) {
  const std::span<const Place> here = places(state);
  const Place* alive = nullptr;
  for (const Place& place : here) {
    if (dies_on_plain(place)) continue;
    if (alive != nullptr) return nullptr;
    alive = &place;
  }
  if (alive == nullptr || alive->automaton == Automata::kTexts) return nullptr;
  return nothing_plain_behind(alive->stack) && !too_complex_ ? alive : nullptr;
}

// Whether none of what may follow a lexeme begins with a plain character.
bool Recognizer::nothing_plain_behind(StackId stack) {
  begin_closure();
  leave(stack);
  run_closure();
  return std::ranges::all_of(found_, [&](const Place& place) { return dies_on_plain(place); });
}

// Nothing takes plain characters but the lexeme of this place where it begins.
bool Recognizer::others_die_on_plain(StateId state, const Place& loop) const {
  return std::ranges::all_of(places(state), [&](const Place& place) {
    return (place.automaton == loop.automaton && place.state == loop.state) || dies_on_plain(place);
  });
}

// The same places, but that the one of this lexeme may have counted.
bool Recognizer::same_but_for(const Place& loop, StateId a, StateId b) const {
  return can_end(a) == can_end(b) &&
         std::ranges::equal(places(a), places(b), [&](const Place& x, const Place& y) {
           return x == y || (x == loop && x.automaton == y.automaton && x.state == y.state);
         });
}

}  // namespace windrow::grammar
