#include "grammar/automata.h"

#include <algorithm>
#include <utility>

namespace windrow::grammar {
namespace {

using State = ByteDfa::State;
constexpr State kDead = ByteDfa::kDead;

bool goes_on(const ByteDfa& dfa, State state) {
  const auto first =
      dfa.next_of.begin() + static_cast<std::ptrdiff_t>(size_t{state} * dfa.classes_count);
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(dfa.classes_count),
                     [](State to) { return to != kDead; });
}

// The state to which all of these bytes lead; kDead if not one.
State common(const ByteDfa& dfa, State from, uint8_t first, uint8_t last) {
  const State to = dfa.next(from, first);
  for (unsigned byte = first; byte <= last && to != kDead; ++byte) {
    if (dfa.next(from, static_cast<uint8_t>(byte)) != to) return kDead;
  }
  return to;
}

// Behind `count` bytes that continue a character, of which the first lies in [first, last], the one
// state that all lead to. States in between may differ.
class Behind {
 public:
  explicit Behind(const ByteDfa& dfa) : dfa_(dfa) {}

  State find(State from, int count, uint8_t first = 0x80, uint8_t last = 0xBF) {
    if (count == 0) return from;
    const bool all = first == 0x80 && last == 0xBF;
    if (all) {
      for (const auto& [key, to] : known_) {
        if (key == std::pair(from, count)) return to;
      }
    }
    State to = kDead;
    State before = kDead;  // neighbours mostly lead to the same
    for (unsigned byte = first; byte <= last; ++byte) {
      const State between = dfa_.next(from, static_cast<uint8_t>(byte));
      if (between == before && byte != first) continue;
      before = between;
      const State here = between == kDead ? kDead : find(between, count - 1);
      if (byte == first) to = here;
      if (here == kDead || here != to) {
        to = kDead;
        break;
      }
    }
    if (all) known_.push_back({{from, count}, to});
    return to;
  }

 private:
  const ByteDfa& dfa_;
  std::vector<std::pair<std::pair<State, int>, State>> known_;
};

// The state to which every plain character leads, kDead if not one.
State behind_plain(const ByteDfa& dfa, State from) {
  const State to = common(dfa, from, ' ', '!');
  if (to == kDead || common(dfa, from, '#', '[') != to || common(dfa, from, ']', '~') != to)
    return kDead;
  Behind behind(dfa);
  struct Lead {
    uint8_t first, last;  // of the first byte
    int more;             // bytes behind it
    uint8_t low, high;    // of the second byte
  };
  static constexpr Lead kLeads[] = {{0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF},
                                    {0xE1, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F},
                                    {0xEE, 0xEF, 2, 0x80, 0xBF}, {0xF0, 0xF0, 3, 0x90, 0xBF},
                                    {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F}};
  for (const Lead& lead : kLeads) {
    for (unsigned byte = lead.first; byte <= lead.last; ++byte) {
      const State begun = dfa.next(from, static_cast<uint8_t>(byte));
      if (begun == kDead || behind.find(begun, lead.more, lead.low, lead.high) != to) return kDead;
    }
  }
  return to;
}

}  // namespace

Automata::Automata(const Grammar& grammar) : grammar_(grammar), facts_(grammar.automata.size()) {
  for (size_t i = 0; i < facts_.size(); ++i) {
    facts_[i].assign(grammar.automata[i]->accepting.size(), 0);
    memory_bytes_ += facts_[i].size();
  }
}

uint8_t Automata::find_facts(uint32_t automaton, uint32_t state) {
  const ByteDfa& dfa = *grammar_.automata[automaton];
  uint8_t found = 0;
  if (windrow::grammar::goes_on(dfa, state)) found |= kGoesOn;
  const State behind = behind_plain(dfa, state);
  if (behind == state) found |= kFree;
  if (behind != kDead && dfa.accepting[behind] && !windrow::grammar::goes_on(dfa, behind))
    found |= kOnePlain;
  if (dfa.next(state, 0x80) != kDead && dfa.next(state, 'a') == kDead) {
    Behind continued(dfa);
    for (int more = 1; more <= 3; ++more) {
      const State to = continued.find(state, more);
      if (to != kDead && behind_plain(dfa, to) == to) found |= static_cast<uint8_t>(kFree << more);
    }
  }
  facts_[automaton][state] = found | kKnown;
  return found;
}

}  // namespace windrow::grammar
