#include "grammar/lexeme/distinct_texts.h"

#include <algorithm>
#include <array>

namespace windrow::grammar {
namespace {

// The predecessors of each state, without doubles.
struct Predecessors {
  std::vector<uint32_t> from;  // of each state, and the end
  std::vector<ByteDfa::State> states;
};

template <class Visit>
void for_successors(const ByteDfa& dfa, ByteDfa::State state, const Visit& visit) {
  const size_t row = size_t{state} * dfa.classes_count;
  for (uint32_t number = 0; number < dfa.classes_count; ++number) {
    if (const ByteDfa::State next = dfa.next_of[row + number]; next != ByteDfa::kDead)
      visit(next, number);
  }
}

Predecessors predecessors_of(const ByteDfa& dfa) {
  Predecessors result;
  result.from.assign(dfa.states_count() + 1, 0);
  for (ByteDfa::State state = 0; state < dfa.states_count(); ++state)
    for_successors(dfa, state, [&](ByteDfa::State next, uint32_t) { ++result.from[next + 1]; });
  for (size_t i = 1; i < result.from.size(); ++i)
    result.from[i] += result.from[i - 1];
  result.states.resize(result.from.back());
  std::vector<uint32_t> at(result.from.begin(), result.from.end() - 1);
  for (ByteDfa::State state = 0; state < dfa.states_count(); ++state) {
    for_successors(dfa, state,
                   [&](ByteDfa::State next, uint32_t) { result.states[at[next]++] = state; });
  }
  return result;
}

std::array<uint32_t, 256> class_sizes(const ByteDfa& dfa) {
  std::array<uint32_t, 256> sizes{};
  for (const uint8_t number : dfa.class_of)
    ++sizes[number];
  return sizes;
}

}  // namespace

// From the ends backwards: a state is counted once all that follow it are. All others lead to
// a circle.
std::vector<uint32_t> text_counts(const ByteDfa& dfa) {
  const Predecessors predecessors = predecessors_of(dfa);
  const std::array<uint32_t, 256> sizes = class_sizes(dfa);
  std::vector<uint32_t> counts(dfa.states_count(), kManyTexts);
  std::vector<uint32_t> missing(dfa.states_count(), 0);
  std::vector<ByteDfa::State> todo;
  for (ByteDfa::State state = 0; state < dfa.states_count(); ++state) {
    for_successors(dfa, state, [&](ByteDfa::State, uint32_t) { ++missing[state]; });
    if (missing[state] == 0) todo.push_back(state);
  }
  while (!todo.empty()) {
    const ByteDfa::State state = todo.back();
    todo.pop_back();
    uint64_t count = dfa.accepting[state] ? 1 : 0;
    for_successors(dfa, state, [&](ByteDfa::State next, uint32_t number) {
      count = std::min<uint64_t>(kManyTexts, count + uint64_t{sizes[number]} * counts[next]);
    });
    counts[state] = static_cast<uint32_t>(count);
    for (uint32_t i = predecessors.from[state]; i < predecessors.from[state + 1]; ++i) {
      const ByteDfa::State before = predecessors.states[i];
      if (--missing[before] == 0) todo.push_back(before);
    }
  }
  return counts;
}

std::shared_ptr<const ByteDfa> with_first_state(const std::shared_ptr<const ByteDfa>& dfa) {
  if (std::ranges::find(dfa->next_of, 0U) == dfa->next_of.end()) return dfa;
  auto result = std::make_shared<ByteDfa>(*dfa);
  const std::vector<ByteDfa::State> first(dfa->next_of.begin(),
                                          dfa->next_of.begin() + dfa->classes_count);
  result->next_of.insert(result->next_of.begin(), first.begin(), first.end());
  for (ByteDfa::State& next : result->next_of) {
    if (next != ByteDfa::kDead) ++next;
  }
  result->accepting.insert(result->accepting.begin(), dfa->accepting[0]);
  return result;
}

}  // namespace windrow::grammar
