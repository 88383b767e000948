// Random automata and texts, and what must hold of every automaton, for tests.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/range_dfa.h"

namespace windrow::grammar {

// Letters of every length in UTF-8, with all that JSON escapes in different ways.
inline constexpr char32_t kLetters[] = {U'a',    U'b',      U'"',      U'\\',     U'\n',
                                        U'\x01', U'\u00e9', U'\ud7ff', U'\ue000', U'\U0001F600'};

// Any states with ranges between the first `letters` of kLetters, dead ends and all.
inline RangeDfa random_range_dfa(Random& random, uint64_t states, size_t letters) {
  std::vector<char32_t> sorted(kLetters, kLetters + letters);
  std::sort(sorted.begin(), sorted.end());
  RangeDfa dfa;
  for (uint64_t state = 0; state < states; ++state) {
    dfa.begin_state(random.chance(0.3));
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (random.chance(0.4)) continue;
      const size_t first = i;
      while (i + 1 < sorted.size() && random.chance(0.5))
        ++i;
      const auto to = static_cast<RangeDfa::State>(random.below(states));
      const CharSet set({{sorted[first], sorted[i]}});  // without surrogates
      for (const CharRange& range : set.ranges())
        dfa.add_edge(range, to);
    }
  }
  return dfa;
}

inline bool runs(const RangeDfa& dfa, std::u32string_view text) {
  if (dfa.states_count() == 0) return false;
  RangeDfa::State state = 0;
  for (const char32_t character : text) {
    state = dfa.next(state, character);
    if (state == RangeDfa::kDead) return false;
  }
  return dfa.accepting[state];
}

// All texts of the first `letters` of kLetters, up to `length`.
inline std::vector<std::u32string> all_texts(size_t letters, size_t length) {
  std::vector<std::u32string> texts{U""};
  for (size_t i = 0; texts[i].size() < length; ++i) {
    for (size_t letter = 0; letter < letters; ++letter)
      texts.push_back(texts[i] + kLetters[letter]);
  }
  return texts;
}

// How many states an accepting state cannot be reached from, or that cannot be reached: all must be
// good for something.
inline size_t useless_states(const ByteDfa& dfa) {
  const size_t states = dfa.states_count();
  std::vector<bool> reached(states);
  std::vector<bool> useful = dfa.accepting;
  reached[0] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < dfa.next_of.size(); ++i) {
      const ByteDfa::State to = dfa.next_of[i];
      if (to == ByteDfa::kDead) continue;
      const size_t from = i / dfa.classes_count;
      if (reached[from] && !reached[to]) changed = reached[to] = true;
      if (useful[to] && !useful[from]) changed = useful[from] = true;
    }
  }
  size_t useless = 0;
  for (size_t state = 0; state < states; ++state)
    useless += reached[state] && useful[state] ? 0u : 1u;
  return useless;
}

// Texts of an automaton, found by walking it at random; they may be long.
class RandomWalks {
 public:
  explicit RandomWalks(const ByteDfa& dfa) : dfa_(dfa), distance_(dfa.states_count(), UINT32_MAX) {
    for (size_t state = 0; state < distance_.size(); ++state) {
      if (dfa.accepting[state]) distance_[state] = 0;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = dfa.next_of.size(); i-- > 0;) {
        const ByteDfa::State to = dfa.next_of[i];
        if (to == ByteDfa::kDead || distance_[to] == UINT32_MAX) continue;
        uint32_t& mine = distance_[i / dfa.classes_count];
        if (distance_[to] + 1 >= mine) continue;
        mine = distance_[to] + 1;
        changed = true;
      }
    }
  }

  // Ends now and then before `length_wanted`, and behind it as soon as it can.
  std::string text(Random& random, size_t length_wanted) const {
    std::string text;
    ByteDfa::State state = 0;
    while (true) {
      const bool enough = text.size() >= length_wanted;
      if (dfa_.accepting[state] && (enough || random.chance(0.02))) return text;
      std::string ways;
      for (uint32_t byte = 0; byte < 256; ++byte) {
        const ByteDfa::State to = dfa_.next(state, static_cast<uint8_t>(byte));
        if (to == ByteDfa::kDead || (enough && distance_[to] >= distance_[state])) continue;
        ways += static_cast<char>(byte);
      }
      if (ways.empty()) return text;  // an end without a way on
      text += ways[random.below(ways.size())];
      state = dfa_.next(state, static_cast<uint8_t>(text.back()));
    }
  }

 private:
  const ByteDfa& dfa_;
  std::vector<uint32_t> distance_;  // bytes to the nearest end
};

}  // namespace windrow::grammar
