#include "grammar/distinct_lexemes.h"

#include <algorithm>
#include <utility>

#include "grammar/lexeme/distinct_texts.h"
#include "grammar/plain_facts.h"

namespace windrow::grammar {
namespace {

constexpr size_t kStepsMax = 50'000;           // remembered
constexpr size_t kUsedUpMax = 500;             // sets of lexemes remembered
constexpr uint32_t kContainersMax = 4000;      // that have texts, within each other
constexpr uint32_t kPositionsRemembered = 32;  // two bits each

// Whether a byte can be part of a plain character.
bool is_in_plain(unsigned byte) {
  return byte >= 0x80 || begins_plain(static_cast<uint8_t>(byte));
}

// States from which plain characters lead only to states like them: where many texts follow, and
// none is complete.
std::vector<bool> states_that_ignore_plain(const ByteDfa& dfa,
                                           const std::vector<uint32_t>& text_counts) {
  std::vector<bool> in_plain(dfa.classes_count);
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (is_in_plain(byte)) in_plain[dfa.class_of[byte]] = true;
  }
  const auto for_next = [&](ByteDfa::State state, const auto& visit) {
    for (uint32_t number = 0; number < dfa.classes_count; ++number) {
      const ByteDfa::State next = dfa.next_of[size_t{state} * dfa.classes_count + number];
      if (in_plain[number] && next != ByteDfa::kDead) visit(next);
    }
  };
  std::vector<std::vector<ByteDfa::State>> before(dfa.states_count());
  std::vector<bool> ignores(dfa.states_count(), true);
  std::vector<ByteDfa::State> todo;
  for (ByteDfa::State state = 0; state < dfa.states_count(); ++state) {
    for_next(state, [&](ByteDfa::State next) {
      if (before[next].empty() || before[next].back() != state) before[next].push_back(state);
    });
    if (text_counts[state] == kManyTexts && !dfa.accepting[state]) continue;
    ignores[state] = false;
    todo.push_back(state);
  }
  while (!todo.empty()) {
    const ByteDfa::State state = todo.back();
    todo.pop_back();
    for (const ByteDfa::State each : before[state]) {
      if (!ignores[each]) continue;
      ignores[each] = false;
      todo.push_back(each);
    }
  }
  return ignores;
}

// How many of the texts seen from `place` on are longer and texts of the automaton; at most `max`
// are counted.
uint32_t count_longer(const ByteDfa& dfa, ByteDfa::State state, SeenTexts::Cursor place,
                      uint32_t max) {
  struct Visit {
    ByteDfa::State state;
    SeenTexts::Cursor place;
  };
  std::vector<Visit> todo;
  const auto add_next = [&](const Visit& at) {
    at.place.for_each([&](uint8_t byte, SeenTexts::Cursor behind) {
      const ByteDfa::State next = dfa.next(at.state, byte);
      if (next != ByteDfa::kDead) todo.push_back({next, behind});
    });
  };
  uint32_t count = 0;
  add_next({state, place});
  while (!todo.empty() && count < max) {
    const Visit at = todo.back();
    todo.pop_back();
    if (at.place.ends() && dfa.accepting[at.state]) ++count;
    add_next(at);
  }
  return count;
}

}  // namespace

DistinctLexemes::DistinctLexemes(Recognizer& recognizer) : recognizer_(recognizer) {
  const Grammar& grammar = recognizer.grammar();
  automata_.resize(grammar.automata.size() + 1);
  for (size_t i = 0; i < grammar.automata.size(); ++i) {
    if (!grammar.is_distinct[i]) continue;
    Automaton& made = automata_[i + 1];
    made.text_counts = text_counts(*grammar.automata[i]);
    if (made.text_counts[0] != kManyTexts) few_.push_back(static_cast<uint32_t>(i + 1));
    made.ignores_plain = states_that_ignore_plain(*grammar.automata[i], made.text_counts);
  }
}

// --- facts ----------------------------------------------------------------------------------

void DistinctLexemes::forget_old() {
  if (numbering_ == recognizer_.numbering()) return;
  numbering_ = recognizer_.numbering();
  facts_.clear();
  indices_.clear();
  steps_.clear();
  all_used_up_ = std::make_unique<UsedUp>(recognizer_, few_);
  used_up_.clear();
}

const DistinctLexemes::Facts& DistinctLexemes::facts(StateId state) {
  forget_old();
  if (facts_.size() <= state) facts_.resize(std::max<size_t>(state + 1, facts_.size() * 2));
  if (!facts_[state].known) facts_[state] = find_facts(state);
  return facts_[state];
}

DistinctLexemes::Facts DistinctLexemes::find_facts(StateId state) {
  Facts found{.known = true, .from = static_cast<uint32_t>(indices_.size())};
  const std::span<const Position> positions = recognizer_.positions(state);
  for (uint32_t i = 0; i < positions.size(); ++i) {
    const Position& at = positions[i];
    const Recognizer::Depths depths = recognizer_.depths(at.stack);
    found.depth_max = std::max(found.depth_max, depths.most);
    if (!recognizer_.automata().is_distinct(at.automaton)) continue;
    const bool begins = at.state == 0;
    if (depths.least != depths.most) found.differ = true;
    if (found.count > 0 && (found.depth != depths.most || found.begins != begins))
      found.differ = true;
    found.depth = depths.most;
    (begins ? found.begins : found.inside) = true;
    const Automaton& automaton = automata_[at.automaton];
    if (automaton.text_counts[at.state] != kManyTexts) found.few_texts = true;
    if (!automaton.ignores_plain[at.state]) found.ignores_plain = false;
    if (recognizer_.automata().accepts(at.automaton, at.state)) found.complete = true;
    indices_.push_back(i);
    ++found.count;
  }
  for (uint32_t i = 0; i < positions.size() && !few_.empty(); ++i) {
    if (!all_used_up_->is_blocked_in_two(positions[i])) continue;
    indices_.push_back(i);
    ++found.blocked_count;
  }
  return found;
}

bool DistinctLexemes::ignores_plain(StateId state) {
  return facts(state).ignores_plain;
}

bool DistinctLexemes::may_end(StateId state, uint8_t byte) {
  const Facts here = facts(state);
  const Automata& automata = recognizer_.automata();
  for (uint32_t i = here.from; i < here.from + here.count; ++i) {
    const Position& at = recognizer_.positions(state)[indices_[i]];
    const uint32_t next = automata.next(at.automaton, at.state, byte);
    if (next != Automata::kDead && automata.accepts(at.automaton, next)) return true;
  }
  return false;
}

// A position that was there before the byte is as it was, unless a text is over now.
bool DistinctLexemes::may_block(StateId from, uint8_t byte, StateId to) {
  const Facts behind = facts(to);
  if (behind.blocked_count == 0) return false;
  const Facts here = facts(from);
  if (may_end(from, byte) || (here.complete && !behind.inside)) return true;
  const auto leads_to = [&](const Position& before, const Position& after) {
    return before.automaton == after.automaton && before.stack == after.stack &&
           recognizer_.automata().next(before.automaton, before.state, byte) == after.state;
  };
  for (uint32_t i = 0; i < behind.blocked_count; ++i) {
    const Position& after = recognizer_.positions(to)[indices_[behind.from + behind.count + i]];
    if (std::ranges::none_of(recognizer_.positions(from),
                             [&](const Position& before) { return leads_to(before, after); }))
      return true;
  }
  return false;
}

// --- what was seen --------------------------------------------------------------------------

SeenTexts DistinctLexemes::seen_in(const DistinctTexts& texts, uint32_t depth) const {
  const auto* container = texts.innermost_.get();
  while (container != nullptr && container->depth > depth)
    container = container->outer.get();
  return container != nullptr && container->depth == depth ? container->seen : SeenTexts();
}

SeenTexts::Cursor DistinctLexemes::place_of(const TextPoint& point) {
  if (point.texts.is_open_) return point.texts.place_;
  const Facts& here = facts(point.state);
  return here.begins ? seen_in(point.texts, here.depth).begin() : SeenTexts::Cursor();
}

// Returns false if readings are in containers within this one, or too many are within each other.
bool DistinctLexemes::add_text(DistinctTexts& texts, uint32_t depth, std::string_view text) const {
  std::shared_ptr<const DistinctTexts::Container> outer = texts.innermost_;
  if (outer != nullptr && outer->depth > depth) return false;
  SeenTexts seen;
  std::shared_ptr<const std::vector<uint32_t>> used_up;
  if (outer != nullptr && outer->depth == depth) {
    seen = outer->seen;
    used_up = outer->used_up;
    outer = outer->outer;
  }
  seen = seen.with(text);
  for (const uint32_t automaton : few_) {
    if ((used_up != nullptr && std::ranges::binary_search(*used_up, automaton)) ||
        !recognizer_.automata().dfa(automaton)->contains(text) ||
        !uses_up(automaton, 0, automata_[automaton].text_counts[0], seen.begin()))
      continue;
    std::vector<uint32_t> more = used_up == nullptr ? std::vector<uint32_t>() : *used_up;
    more.insert(std::ranges::lower_bound(more, automaton), automaton);
    used_up = std::make_shared<const std::vector<uint32_t>>(std::move(more));
  }
  const uint32_t count = outer == nullptr ? 1 : outer->count + 1;
  texts.innermost_ = std::make_shared<const DistinctTexts::Container>(DistinctTexts::Container{
      depth, count, std::move(seen), std::move(used_up), std::move(outer)});
  return count <= kContainersMax;
}

// --- steps ----------------------------------------------------------------------------------

// Whether as many texts were seen as there are: `texts` that are longer than what is read.
bool DistinctLexemes::uses_up(uint32_t automaton, uint32_t state, uint32_t texts,
                              SeenTexts::Cursor place) const {
  const uint32_t longer = place.count() - (place.ends() ? 1 : 0);
  if (texts == kManyTexts || texts > longer) return false;
  return count_longer(*recognizer_.automata().dfa(automaton), state, place, texts) >= texts;
}

// What the texts seen forbid behind `byte`, into bans_. Returns whether a lexeme may end there.
bool DistinctLexemes::find_bans(const Facts& here, StateId state, uint8_t byte,
                                SeenTexts::Cursor behind) {
  bans_.clear();
  bans_key_ = 0;
  bool can_end = false;
  const Automata& automata = recognizer_.automata();
  for (uint32_t i = 0; i < here.count; ++i) {
    const uint32_t index = indices_[here.from + i];
    const Position& at = recognizer_.positions(state)[index];
    const uint32_t next = automata.next(at.automaton, at.state, byte);
    if (next == Automata::kDead) continue;
    const bool accepts = automata.accepts(at.automaton, next);
    Recognizer::Ban ban{.position = index};
    if (behind.is_on()) {
      const uint32_t texts = automata_[at.automaton].text_counts[next];
      const uint32_t longer = texts == kManyTexts ? texts : texts - (accepts ? 1 : 0);
      ban.ends = accepts && behind.ends();
      ban.goes_on =
          automata.goes_on(at.automaton, next) && uses_up(at.automaton, next, longer, behind);
    }
    can_end |= accepts && !ban.ends;
    if (!ban.ends && !ban.goes_on) continue;
    bans_.push_back(ban);
    if (i < kPositionsRemembered)
      bans_key_ |= uint64_t{(ban.ends ? 1U : 0U) + (ban.goes_on ? 2U : 0U)} << (2 * i);
  }
  return can_end;
}

StateId DistinctLexemes::step_with_bans(StateId state, uint8_t byte, const Facts& here) {
  if (here.count > kPositionsRemembered) return recognizer_.step_without(state, byte, bans_);
  if (steps_.size() >= kStepsMax) steps_.clear();
  const auto [found, is_new] = steps_.try_emplace(StepKey(state, byte, bans_key_), 0);
  if (is_new) found->second = recognizer_.step_without(state, byte, bans_);
  return found->second;
}

// The state without the positions from which all ways lead to lexemes that are used up in the
// container.
StateId DistinctLexemes::without_blocked(const DistinctTexts::Container& container, StateId state) {
  if (used_up_.size() > kUsedUpMax) used_up_.clear();
  std::unique_ptr<UsedUp>& used_up = used_up_[*container.used_up];
  if (used_up == nullptr) used_up = std::make_unique<UsedUp>(recognizer_, *container.used_up);
  const auto [found, is_new] =
      used_up->states.try_emplace(std::pair(state, container.depth), state);
  if (!is_new) return found->second;
  std::vector<uint32_t> blocked;
  for (uint32_t i = 0; i < recognizer_.positions(state).size(); ++i) {
    const Position at = recognizer_.positions(state)[i];
    const uint32_t depth = recognizer_.depths(at.stack).most;
    if (depth >= container.depth && used_up->is_blocked(at, depth - container.depth))
      blocked.push_back(i);
  }
  if (!blocked.empty()) found->second = recognizer_.without(state, blocked);
  return found->second;
}

bool DistinctLexemes::step(TextPoint& point, std::string& bytes, uint8_t byte) {
  DistinctTexts& texts = point.texts;
  const Facts here = facts(point.state);
  StateId next = 0;
  bool can_end = false;
  if (here.count == 0) {
    next = recognizer_.step(point.state, byte);
  } else {
    texts.place_ = place_of(point).next(byte);
    can_end = find_bans(here, point.state, byte, texts.place_);
    next = bans_.empty() ? recognizer_.step(point.state, byte)
                         : step_with_bans(point.state, byte, here);
  }
  if (next == Recognizer::kDead) return false;
  const Facts behind = facts(next);
  if (here.count > 0) {
    bytes.resize(texts.bytes_count_);
    if (!texts.is_open_) texts.open_from_ = bytes.size();
    const bool could_end = texts.is_open_ && texts.can_end_;
    if (behind.inside || can_end) bytes += static_cast<char>(byte);
    texts.bytes_count_ = bytes.size();
    texts.is_open_ = behind.inside;
    texts.can_end_ = can_end;
    if (!behind.inside) {
      texts.place_ = {};
      if ((can_end || could_end) &&
          !add_text(texts, here.depth, std::string_view(bytes).substr(texts.open_from_))) {
        recognizer_.set_too_complex();
        return false;
      }
    }
  }
  while (texts.innermost_ != nullptr && texts.innermost_->depth > behind.depth_max)
    texts.innermost_ = texts.innermost_->outer;
  if (behind.differ) recognizer_.set_too_complex();
  if (behind.differ) return false;
  if (texts.innermost_ != nullptr && texts.innermost_->used_up != nullptr)
    next = without_blocked(*texts.innermost_, next);
  point.state = next;
  return next != Recognizer::kDead;
}

size_t DistinctLexemes::memory_bytes() const {
  size_t bytes = sizeof(*this) + facts_.capacity() * sizeof(Facts) +
                 indices_.capacity() * sizeof(uint32_t) +
                 steps_.size() * (sizeof(StepKey) + sizeof(StateId));
  for (const Automaton& automaton : automata_)
    bytes += automaton.text_counts.capacity() * sizeof(uint32_t) +
             automaton.ignores_plain.capacity() / 8;
  return bytes;
}

}  // namespace windrow::grammar
