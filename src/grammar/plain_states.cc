#include <algorithm>
#include <vector>

#include "grammar/recognizer.h"

namespace windrow::grammar {
namespace {

using Kind = Grammar::Node::Kind;

constexpr uint32_t kPlainUnbounded = Grammar::kUnbounded;

uint32_t one_more(uint32_t times) {
  return times == kPlainUnbounded ? times : times + 1;
}

bool dies_on_plain(const Recognizer& recognizer, const Position& place) {
  return std::ranges::all_of(recognizer.classes().plain_firsts(), [&](uint8_t byte) {
    return recognizer.automata().next(place.automaton, place.state, byte) == Automata::kDead;
  });
}

// Whether a frame begins the lexeme anew, as one that is any one plain character.
bool repeats(const Recognizer& recognizer, const Frame& frame, uint32_t automaton) {
  const Grammar& grammar = recognizer.grammar();
  if (frame.node == Stacks::kEndNode || !recognizer.automata().facts(automaton, 0).any_char())
    return false;
  const Grammar::Node& node = grammar.nodes[frame.node];
  if (node.kind != Kind::kRepeat) return false;
  const auto is_it = [&](uint32_t child) {
    const Grammar::Node& body = grammar.nodes[child];
    return body.kind == Kind::kLexeme && body.first + 1 == automaton;
  };
  const uint32_t child = grammar.children[node.first];
  const Grammar::Node& body = grammar.nodes[child];
  if (body.kind != Kind::kChoice) return is_it(child);
  const uint32_t* const bodies = grammar.children.data() + body.first;
  return std::any_of(bodies, bodies + body.count, is_it);
}

// In a place whose lexeme is one plain character: whether it is the same place behind it.
bool comes_again(Recognizer& recognizer, StateId state, const Position& place) {
  for (const uint8_t byte : recognizer.classes().plain_firsts()) {
    if (byte < 0x80 &&
        recognizer.automata().next(place.automaton, place.state, byte) != Automata::kDead)
      return std::ranges::binary_search(recognizer.positions(recognizer.step(state, byte)), place);
  }
  return false;
}

// In a place whose lexeme is any one plain character: how many may follow at least.
uint32_t repeated_plain(const Recognizer& recognizer, const Position& place) {
  uint32_t most = 1;
  for (const Frame& frame : recognizer.frames(place.stack)) {
    if (repeats(recognizer, frame, place.automaton)) most = std::max(most, one_more(frame.second));
  }
  return most;
}

// Whether nothing that may follow a lexeme begins with a plain character.
bool nothing_plain_after(Recognizer& recognizer, StackId stack) {
  return std::ranges::all_of(recognizer.positions_after(stack), [&](const Position& place) {
    return dies_on_plain(recognizer, place);
  });
}

// Nothing takes plain characters but the lexeme of this place where it begins.
bool others_die_on_plain(const Recognizer& recognizer, StateId state, const Position& loop) {
  return std::ranges::all_of(recognizer.positions(state), [&](const Position& place) {
    return (place.automaton == loop.automaton && place.state == loop.state) ||
           dies_on_plain(recognizer, place);
  });
}

// The same places, but that the one of this lexeme may have counted, in itself or as a repetition.
bool same_but_for(const Recognizer& recognizer, const Position& loop, StateId a, StateId b) {
  return recognizer.can_end(a) == recognizer.can_end(b) &&
         std::ranges::equal(recognizer.positions(a), recognizer.positions(b),
                            [&](const Position& x, const Position& y) {
                              const Automata& automata = recognizer.automata();
                              return x == y || (x == loop && x.automaton == y.automaton &&
                                                automata.dfa_state(x.automaton, x.state) ==
                                                    automata.dfa_state(y.automaton, y.state));
                            });
}

// Whether b differs from a only in the count of a lexeme, which does not matter within reach.
bool counts_only(const Recognizer& recognizer, const Position& lexeme, StateId a, StateId b) {
  const Automata& automata = recognizer.automata();
  return automata.counted(lexeme.automaton) != nullptr &&
         automata.counts_nothing(lexeme.automaton, lexeme.state) &&
         same_but_for(recognizer, lexeme, a, b);
}

}  // namespace

PlainState find_plain_state(Recognizer& recognizer, StateId state) {
  PlainState plain;
  const std::vector<Position> here(recognizer.positions(state).begin(),
                                   recognizer.positions(state).end());
  for (const Position& place : here) {
    const PlainFacts facts = recognizer.automata().facts(place.automaton, place.state);
    plain.free_after |= facts.free_behind;
    ByteKinds dangers = facts.dangers;
    uint32_t chars = facts.free_chars;
    if (facts.one_char && comes_again(recognizer, state, place)) dangers = facts.dangers_here;
    if (facts.any_char()) chars = repeated_plain(recognizer, place);
    if (dangers.empty()) chars = kPlainUnbounded;
    plain.free_chars = std::max(plain.free_chars, chars);
    if (dangers.count() < plain.dangers.count()) plain.dangers = dangers;
  }
  if (plain.free_chars == kPlainUnbounded) plain.free_after |= 1;
  return plain;
}

PlainLoop find_plain_loop(Recognizer& recognizer, StateId state, uint32_t reach) {
  const uint32_t free_chars = recognizer.plain(state).free_chars;
  if (free_chars == 0) return {};
  const std::vector<Position> here(recognizer.positions(state).begin(),
                                   recognizer.positions(state).end());
  const Position* alive = nullptr;  // behind a plain character
  bool is_one = true;
  for (const Position& place : here) {
    if (dies_on_plain(recognizer, place)) continue;
    is_one = alive == nullptr;
    alive = &place;
  }
  const PlainFacts facts = recognizer.automata().facts(alive->automaton, alive->state);
  const StateId next = recognizer.step(state, 'a');
  PlainLoop loop = {.is_one = true, .chars = free_chars};
  // Behind every plain character it is the same state where there is one place, and that leads to
  // one place.
  if (free_chars == kPlainUnbounded) {
    const bool comes_back = next == state || counts_only(recognizer, *alive, state, next);
    loop.same_behind = is_one && (facts.loops || facts.any_char()) && comes_back;
    return loop;
  }
  if (!is_one) return {};
  if (!facts.any_char())
    return facts.exactly && nothing_plain_after(recognizer, alive->stack) ? loop : PlainLoop();
  if (recognizer.frames(alive->stack).size() != 1) return {};
  const Frame frame = recognizer.frames(alive->stack).front();
  if (!repeats(recognizer, frame, alive->automaton))
    return nothing_plain_after(recognizer, alive->stack) ? loop : PlainLoop();
  if (alive->state != 0 || !others_die_on_plain(recognizer, next, *alive) ||
      !nothing_plain_after(recognizer, frame.below))
    return {};
  loop.same_behind =
      frame.first == 0 && frame.second >= reach && same_but_for(recognizer, *alive, state, next);
  return loop;
}

const Position* find_plain_lexeme(Recognizer& recognizer, StateId state) {
  const std::span<const Position> here = recognizer.positions(state);
  const Position* alive = nullptr;
  for (const Position& place : here) {
    if (dies_on_plain(recognizer, place)) continue;
    if (alive != nullptr) return nullptr;
    alive = &place;
  }
  if (alive == nullptr || alive->automaton == Automata::kTexts ||
      !recognizer.automata().keeps_min(alive->automaton, alive->state))
    return nullptr;
  return nothing_plain_after(recognizer, alive->stack) && !recognizer.too_complex() ? alive
                                                                                    : nullptr;
}

}  // namespace windrow::grammar
