#include "grammar/lexeme/range_nfa.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "grammar/lexeme/testing/automata.h"

namespace windrow::grammar {
namespace {

struct Plain {
  std::vector<std::tuple<uint32_t, CharRange, uint32_t>> edges;
  std::vector<std::pair<uint32_t, uint32_t>> free;

  std::set<uint32_t> closed(std::set<uint32_t> states) const {
    for (size_t before = 0; before != states.size();) {
      before = states.size();
      for (const auto& [from, to] : free) {
        if (states.contains(from)) states.insert(to);
      }
    }
    return states;
  }

  std::set<uint32_t> step(const std::set<uint32_t>& states, char32_t character) const {
    std::set<uint32_t> next;
    for (const auto& [from, on, to] : edges) {
      if (states.contains(from) && on.first <= character && character <= on.last) next.insert(to);
    }
    return closed(next);
  }
};

TEST(RangeNfa, DeterminisedItHasTheSameTexts) {
  constexpr uint64_t kSeed = 3;
  Random random(kSeed);
  const auto texts = all_texts(4, 4);
  for (int round = 0; round < 400; ++round) {
    RangeNfa nfa;
    Plain plain;
    const uint64_t states = 2 + random.below(6);
    for (uint64_t i = 0; i < states; ++i)
      nfa.add_state();
    const auto any = [&] { return static_cast<uint32_t>(random.below(states)); };
    for (uint64_t i = random.below(10); i > 0; --i) {
      char32_t a = kLetters[random.below(4)];
      char32_t b = kLetters[random.below(4)];
      if (a > b) std::swap(a, b);
      const uint32_t from = any();
      const uint32_t to = any();
      nfa.add_edge(from, {a, b}, to);
      plain.edges.emplace_back(from, CharRange{a, b}, to);
    }
    for (uint64_t i = random.below(4); i > 0; --i) {
      const auto free = std::pair(any(), any());
      nfa.add_free_edge(free.first, free.second);
      plain.free.push_back(free);
    }
    const RangeNfa::Ends ends{any(), any(), {}};
    const auto dfa = nfa.determinise(ends, 1000);
    ASSERT_TRUE(dfa);
    for (const std::u32string& text : texts) {
      std::set<uint32_t> at = plain.closed({ends.first});
      for (const char32_t character : text)
        at = plain.step(at, character);
      ASSERT_EQ(runs(*dfa, text), at.contains(ends.accepting))
          << "seed " << kSeed << " round " << round;
    }
  }
}

TEST(RangeNfa, BehindTheUniversalStateNothingIsTriedAnyMore) {
  RangeNfa nfa;
  const auto first = nfa.add_state();
  const auto universal = nfa.add_state();
  nfa.add_edge(first, {'a', 'z'}, first);
  nfa.add_edge(first, {'x', 'x'}, universal);
  nfa.add_edge(universal, {0, 0x10FFFF}, universal);
  const auto dfa = nfa.determinise({first, universal, universal}, 10);
  ASSERT_TRUE(dfa);
  EXPECT_EQ(dfa->states_count(), 2u);
  EXPECT_TRUE(runs(*dfa, U"abx!"));
  EXPECT_FALSE(runs(*dfa, U"ab"));
}

TEST(RangeNfa, GivesUpAtItsLimit) {
  // The n-th letter from the end is an `a`: 2^n states.
  RangeNfa nfa;
  const auto first = nfa.add_state();
  nfa.add_edge(first, {'a', 'b'}, first);
  auto at = nfa.add_state();
  nfa.add_edge(first, {'a', 'a'}, at);
  for (int i = 0; i < 11; ++i) {
    const auto next = nfa.add_state();
    nfa.add_edge(at, {'a', 'b'}, next);
    at = next;
  }
  EXPECT_FALSE(nfa.determinise({first, at, {}}, 1000));
  const auto dfa = nfa.determinise({first, at, {}}, 5000);
  ASSERT_TRUE(dfa);
  EXPECT_EQ(dfa->states_count(), 4096u);
}

}  // namespace
}  // namespace windrow::grammar
