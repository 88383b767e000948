#include "grammar/lexeme/char_dfa.h"

#include <utility>

#include "base/utf8.h"
#include "grammar/lexeme/literal_texts.h"

namespace windrow::grammar {
namespace {

void add_edges(const CharSet& set, RangeDfa::State to, RangeDfa& dfa) {
  for (const CharRange& range : set.ranges())
    dfa.add_edge(range, to);
}

}  // namespace

CharDfa::CharDfa(const RangeDfa& dfa) : CharDfa(of_minimal(minimal(dfa))) {}

CharDfa CharDfa::of_minimal(RangeDfa ranges) {
  CharDfa result;
  if (ranges.states_count() == 0) return result;
  result.shared_ = std::make_shared<Shared>();
  result.shared_->ranges = std::move(ranges);
  return result;
}

const RangeDfa& CharDfa::ranges() const {
  static const RangeDfa none;
  return shared_ == nullptr ? none : shared_->ranges;
}

CharDfa CharDfa::any_text() {
  static const CharDfa any = [] {
    RangeDfa dfa;
    dfa.begin_state(true);
    add_edges(CharSet::all(), 0, dfa);
    return CharDfa(dfa);
  }();
  return any;
}

CharDfa CharDfa::one_of(const CharSet& set) {
  RangeDfa dfa;
  dfa.begin_state(false);
  add_edges(set, 1, dfa);
  dfa.begin_state(true);
  return CharDfa(dfa);
}

CharDfa CharDfa::literals(std::span<const std::string_view> texts) {
  return literals(texts, UINT32_MAX - 1, {}).value();
}

Result<CharDfa> CharDfa::literals(std::span<const std::string_view> texts, size_t states_max,
                                  const GiveUp& give_up) {
  Result<RangeDfa> dfa = literals_dfa(texts, states_max, give_up);
  if (!dfa) return dfa.error();
  return of_minimal(*std::move(dfa));
}

Result<CharDfa> CharDfa::length(uint32_t min, std::optional<uint32_t> max, size_t states_max) {
  if (max && *max < min) return CharDfa();
  const uint32_t last = max.value_or(min);
  if (last >= states_max) return too_many_states(states_max);
  const CharSet all = CharSet::all();
  RangeDfa dfa;  // minimal as it is built
  for (uint32_t state = 0; state <= last; ++state) {
    dfa.begin_state(state >= min);
    if (state < last) add_edges(all, state + 1, dfa);
  }
  if (!max) add_edges(all, last, dfa);
  return of_minimal(std::move(dfa));
}

Result<CharDfa> CharDfa::combined(const CharDfa& other, Combination what, size_t states_max,
                                  const GiveUp& give_up) const {
  if (what == Combination::kFirstOnly && shared_ != nullptr && shared_ == any_text().shared_ &&
      other.states_count() < states_max) {
    if (std::optional<RangeDfa> rest = complement(other.ranges()))
      return of_minimal(*std::move(rest));
  }
  Result<RangeDfa> dfa = combine(ranges(), other.ranges(), what, states_max, give_up);
  if (dfa) dfa = minimal(*dfa, give_up);
  if (!dfa) return dfa.error();
  return of_minimal(*std::move(dfa));
}

Result<CharDfa> CharDfa::intersect(const CharDfa& other, size_t states_max,
                                   const GiveUp& give_up) const {
  return combined(other, Combination::kBoth, states_max, give_up);
}

Result<CharDfa> CharDfa::unite(const CharDfa& other, size_t states_max,
                               const GiveUp& give_up) const {
  return combined(other, Combination::kEither, states_max, give_up);
}

Result<CharDfa> CharDfa::without(const CharDfa& other, size_t states_max,
                                 const GiveUp& give_up) const {
  return combined(other, Combination::kFirstOnly, states_max, give_up);
}

bool CharDfa::contains(std::string_view utf8) const {
  if (empty()) return false;
  State state = 0;
  while (!utf8.empty()) {
    const auto character = take_code_point(utf8);
    if (!character) return false;
    state = next(state, *character);
    if (state == RangeDfa::kDead) return false;
  }
  return accepts(state);
}

}  // namespace windrow::grammar
