#include "grammar/automata.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

namespace windrow::grammar {

Automata::Automata(const Grammar& grammar, uint32_t reach) : grammar_(grammar), reach_(reach) {
  boost::unordered_flat_map<const ByteDfa*, std::shared_ptr<const Facts>> known;
  for (const auto& dfa : grammar.automata) {
    const auto [found, is_new] = known.try_emplace(dfa.get());
    if (is_new) {
      found->second = std::make_shared<const Facts>(find_plain_facts(*dfa));
      facts_bytes_ += found->second->capacity() * sizeof(PlainFacts);
    }
    facts_.push_back(found->second);
  }
}

PlainFacts Automata::counted_facts(const CountedDfa& counted, uint32_t automaton,
                                   uint32_t state) const {
  const PlainFacts& uncounted = all_facts(automaton)[counted.place(state)];
  PlainFacts facts = uncounted;
  facts.one_char = false;  // a minimum may forbid that it is over
  if (counted.is_free(state, reach_)) return facts;
  facts.loops = false;
  facts.exactly = false;
  facts.free_behind = 0;
  facts.dangers = facts.dangers_here = ByteKinds::all();
  const uint32_t chars = counted.free_chars(state, uncounted.loops);
  facts.exactly = uncounted.loops && chars > 0 && chars < PlainFacts::kForever;
  facts.free_chars = static_cast<uint16_t>(
      std::min<uint32_t>({uncounted.free_chars, chars, PlainFacts::kForever - 1U}));
  return facts;
}

ByteClasses::ByteClasses(const Grammar& grammar) {
  uint32_t count = 1;
  std::vector<uint32_t> class_of(256, 0);
  const auto divide = [&](const auto& kind_of) {
    if (count == 256) return;
    std::vector<std::pair<uint32_t, uint32_t>> kinds;  // class and kind, in order of appearance
    std::vector<uint32_t> divided(256);
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const std::pair kind(class_of[byte], uint32_t{kind_of(byte)});
      const auto at = std::find(kinds.begin(), kinds.end(), kind);
      divided[byte] = static_cast<uint32_t>(at - kinds.begin());
      if (at == kinds.end()) kinds.push_back(kind);
    }
    count = static_cast<uint32_t>(kinds.size());
    class_of = divided;
  };
  const std::vector<bool>& in_texts = grammar.texts.bytes_used();
  divide([&](uint32_t byte) { return in_texts[byte] ? byte : 256; });
  for (const auto& dfa : grammar.automata)
    divide([&](uint32_t byte) { return dfa->class_of[byte]; });

  byte_of_.assign(count, 0);
  bytes_in_.assign(count, 0);
  std::vector<bool> plain(count);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint32_t byte_class = class_of[byte];
    class_of_[byte] = static_cast<uint8_t>(byte_class);
    byte_of_[byte_class] = static_cast<uint8_t>(byte);
    ++bytes_in_[byte_class];
    if (!begins_plain(static_cast<uint8_t>(byte)) || plain[byte_class]) continue;
    plain[byte_class] = true;
    plain_firsts_.push_back(static_cast<uint8_t>(byte));
  }
}

}  // namespace windrow::grammar
