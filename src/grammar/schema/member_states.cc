#include "grammar/schema/member_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace windrow::grammar {
namespace {

constexpr size_t kMemberStatesMax = 20'000;

Error too_many_member_states() {
  return {ErrorKind::kInvalid,
          fmt::format("minProperties and maxProperties with so many declared properties need more "
                      "than {} states; make the bounds smaller or the properties fewer",
                      kMemberStatesMax)};
}

}  // namespace

Result<std::optional<Part>> MemberStates::write() {
  cap_ = std::max(1U, rules_.count_max.value_or(rules_.count_min));
  Result<std::vector<std::vector<State>>> levels = reachable();
  if (!levels) return levels.error();
  Result<Tails> tails = undeclared_tails(levels->back());
  if (!tails) return tails.error();
  for (size_t i = rules_.declared.size(); i-- > 0;) {
    Tails before;
    for (const State& state : (*levels)[i]) {
      if (const auto part = declared_tail(rules_.declared[i], state, *tails)) {
        before.emplace(state, *part);
      }
    }
    *tails = std::move(before);
  }
  const auto start = tails->find(State());
  return start == tails->end() ? std::optional<Part>() : std::optional(start->second);
}

// The states before each declared member, and behind the last.
Result<std::vector<std::vector<MemberStates::State>>> MemberStates::reachable() const {
  std::vector<std::vector<State>> levels{{State()}};
  size_t states = 1;
  for (const DeclaredMember& member : rules_.declared) {
    std::set<State> next;
    for (const State& state : levels.back()) {
      if (!member.required) next.insert(state);
      for (const MemberOffer& offer : member.offers) {
        if (const auto to = after(state, offer)) next.insert(*to);
      }
    }
    states += next.size();
    if (states > kMemberStatesMax) return too_many_member_states();
    levels.emplace_back(next.begin(), next.end());
  }
  return levels;
}

// Nothing if such a member may not follow, or if another offer leads to the same state.
std::optional<MemberStates::State> MemberStates::after(State state,
                                                       const MemberOffer& offer) const {
  if (rules_.count_max && state.count >= *rules_.count_max) return std::nullopt;
  if ((offer.on_purpose & state.met) != 0) return std::nullopt;
  if ((offer.behind & ~state.met) != 0) return std::nullopt;
  const bool idle = (offer.meets & ~state.met) == 0;
  if (idle && (offer.behind_idle & ~state.met) != 0) return std::nullopt;
  return State{std::min(state.count + 1, cap_), state.met | offer.meets, state.taken};
}

// A minimum needs names that are left.
std::optional<MemberStates::State> MemberStates::after_undeclared(State state,
                                                                  const MemberOffer& offer) const {
  if (rules_.undeclared_max && state.taken >= *rules_.undeclared_max) return std::nullopt;
  std::optional<State> next = after(state, offer);
  if (!next || !rules_.undeclared_max) return next;
  next->taken = next->count < rules_.count_min ? state.taken + 1 : 0;
  return next;
}

std::optional<Part> MemberStates::declared_tail(const DeclaredMember& member, State state,
                                                const Tails& next) {
  std::vector<Part> choices;
  for (const MemberOffer& offer : member.offers) {
    const auto to = after(state, offer);
    if (!to) continue;
    const auto rest = next.find(*to);
    if (rest == next.end()) continue;
    const Part part = state.count == 0 ? offer.first : offer.later;
    choices.push_back(builder_.sequence({part, rest->second}));
  }
  if (!member.required) {
    if (const auto rest = next.find(state); rest != next.end()) choices.push_back(rest->second);
  }
  if (choices.empty()) return std::nullopt;
  return one_of(std::move(choices));
}

// --- undeclared members --------------------------------------------------------------------------

// Each lead to larger states, or to themselves.
Result<MemberStates::Tails> MemberStates::undeclared_tails(const std::vector<State>& starts) {
  std::set<State> states(starts.begin(), starts.end());
  for (auto state = states.begin(); state != states.end(); ++state) {
    if (state->met == rules_.demands) continue;
    for (const MemberOffer& offer : rules_.undeclared) {
      if (const auto to = after_undeclared(*state, offer)) states.insert(*to);
    }
    if (states.size() > kMemberStatesMax) return too_many_member_states();
  }
  Tails tails;
  for (auto state = states.rbegin(); state != states.rend(); ++state) {
    const auto part =
        state->met == rules_.demands ? free_tail(*state) : undeclared_tail(*state, tails);
    if (part) tails.emplace(*state, *part);
  }
  return tails;
}

std::optional<Part> MemberStates::undeclared_tail(State state, const Tails& tails) {
  std::vector<Part> choices;
  std::vector<Part> stays;
  for (const MemberOffer& offer : rules_.undeclared) {
    const auto to = after_undeclared(state, offer);
    if (!to) continue;
    if (*to == state) {
      stays.push_back(offer.later);  // no first member: the count would change
      continue;
    }
    const auto rest = tails.find(*to);
    if (rest == tails.end()) continue;
    const Part part = state.count == 0 ? offer.first : offer.later;
    choices.push_back(builder_.sequence({part, rest->second}));
  }
  if (choices.empty()) return std::nullopt;
  const Part part = one_of(std::move(choices));
  if (stays.empty()) return part;
  return builder_.sequence({builder_.repeat(one_of(std::move(stays)), 0, std::nullopt), part});
}

// All demands are met; only how many members there are may still matter.
std::optional<Part> MemberStates::free_tail(State state) {
  uint32_t min = rules_.count_min > state.count ? rules_.count_min - state.count : 0;
  std::optional<uint32_t> max = rules_.undeclared_max;
  if (max) *max -= std::min(*max, state.taken);
  if (rules_.count_max) {
    const uint32_t left = *rules_.count_max - std::min(*rules_.count_max, state.count);
    max = std::min(max.value_or(left), left);
  }
  std::vector<Part> first;
  std::vector<Part> later;
  for (const MemberOffer& offer : rules_.undeclared) {
    if (offer.on_purpose != 0) continue;
    first.push_back(offer.first);
    later.push_back(offer.later);
  }
  if (first.empty()) max = 0;
  if (max && *max < min) return std::nullopt;
  if (max == 0U) return closing_;
  const Part more = one_of(std::move(later));
  if (state.count > 0) return builder_.sequence({builder_.repeat(more, min, max), closing_});
  if (max) *max -= 1;
  const Part some = builder_.sequence(
      {one_of(std::move(first)), builder_.repeat(more, min > 0 ? min - 1 : 0, max), closing_});
  return min > 0 ? some : builder_.choice({closing_, some});
}

Part MemberStates::one_of(std::vector<Part> parts) {
  return parts.size() == 1 ? parts.front() : builder_.choice(std::move(parts));
}

}  // namespace windrow::grammar
