#include "grammar/schema/text_automata.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "grammar/lexeme/formats.h"
#include "grammar/lexeme/regex.h"

namespace windrow::grammar {
namespace {

// Where lengths are built in: a state for each length and each state of a pattern.
constexpr size_t kTextStatesMax = 40'000;

// The same for rules that mean the same, as long as they are in the same order.
std::string automaton_key(const StringRules& rules) {
  std::string key = fmt::format("{} {}\n", rules.length_min,
                                rules.length_max ? std::to_string(*rules.length_max) : "");
  const auto add = [&key](char kind, const std::vector<std::string>& words) {
    for (const std::string& word : words)
      key += fmt::format("{}{} {}", kind, word.size(), word);
  };
  add('f', rules.formats);
  add('w', rules.formats_wide);
  add('p', rules.patterns);
  add('P', rules.patterns_not);
  add('F', rules.formats_not);
  add('W', rules.formats_not_wide);
  add('d', rules.denied);
  return key;
}

// Shorter repetitions are not worth counting.
constexpr size_t kFoldedMin = 8;

bool same_characters(std::span<const CharDfa::Edge> a, std::span<const CharDfa::Edge> b) {
  return std::ranges::equal(a, b, {}, &CharDfa::Edge::on, &CharDfa::Edge::on);
}

// An automaton that only counts in the end (`^[a-z][a-z0-9]{4,60}$`): whose states are a chain, the
// last ones with the same characters, and from some length on accept. A loop takes the place of
// the repetition, so all its states share masks. Others stay as they are.
CountedTexts folded(const CharDfa& dfa) {
  const size_t last = dfa.empty() ? 0 : dfa.states_count() - 1;
  if (last < kFoldedMin || !dfa.edges(static_cast<CharDfa::State>(last)).empty())
    return {.dfa = dfa, .count = {}};
  const auto edges = [&dfa](size_t state) { return dfa.edges(static_cast<CharDfa::State>(state)); };
  size_t min = last;
  for (size_t state = 0; state <= last; ++state) {
    const bool accepts = dfa.accepts(static_cast<CharDfa::State>(state));
    if (accepts) min = std::min(min, state);
    const bool is_chain = std::ranges::all_of(
        edges(state), [state](const CharDfa::Edge& edge) { return edge.to == state + 1; });
    if (!is_chain || (!accepts && min < state)) return {.dfa = dfa, .count = {}};
  }
  size_t loop = last - 1;
  while (loop > 0 && same_characters(edges(loop - 1), edges(last - 1)))
    --loop;
  if (last - loop < kFoldedMin) return {.dfa = dfa, .count = {}};
  RangeDfa made;
  for (size_t state = 0; state <= loop; ++state) {
    made.begin_state(true);
    for (const CharDfa::Edge& edge : edges(state))
      made.add_edge(edge.on, static_cast<RangeDfa::State>(std::min(state + 1, loop)));
  }
  return {.dfa = CharDfa(made),
          .count = {.min = static_cast<uint32_t>(min), .max = static_cast<uint32_t>(last)}};
}

}  // namespace

bool CountedTexts::contains(std::string_view utf8) const {
  const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto length = static_cast<uint64_t>(std::ranges::count_if(utf8, is_first));
  return dfa.contains(utf8) && length >= count.min && length <= count.max;
}

Result<const CharDfa*> TextAutomata::pattern(const std::string& pattern) {
  const auto found = patterns_.find(pattern);
  if (found != patterns_.end()) return &found->second;
  Result<CharDfa> made = regex_dfa(pattern, RegexMeaning::kSearch, CharDfa::kStatesMax, give_up_);
  if (!made) return made.error();
  return &patterns_.emplace(pattern, *std::move(made)).first->second;
}

Result<const CountedTexts*> TextAutomata::texts(const StringRules& rules) {
  const std::string key = automaton_key(rules);
  const auto found = texts_.find(key);
  if (found != texts_.end()) return &found->second;
  Result<CountedTexts> made = join(rules);
  if (!made) return made.error();
  return &texts_.emplace(key, *std::move(made)).first->second;
}

// Formats and patterns, without the lengths.
Result<CharDfa> TextAutomata::wanted(const StringRules& rules) {
  std::optional<CharDfa> all;
  const auto add = [&](const CharDfa& dfa) -> Result<void> {
    if (!all) {
      all = dfa;
      return {};
    }
    if (Result<void> go_on = ask(give_up_); !go_on) return go_on;
    Result<CharDfa> both = all->intersect(dfa, CharDfa::kStatesMax, give_up_);
    if (!both) return both.error();
    all = *std::move(both);
    return {};
  };
  for (const std::string& format : rules.formats) {
    if (Result<void> added = add(*format_dfa(format)); !added) return added.error();
  }
  for (const std::string& text : rules.patterns) {
    Result<const CharDfa*> dfa = pattern(text);
    if (!dfa) return dfa.error();
    if (Result<void> added = add(**dfa); !added) return added.error();
  }
  for (const std::string& format : rules.formats_wide) {
    const CharDfa* dfa = widest_format_dfa(format);
    if (dfa == nullptr) continue;
    if (Result<void> added = add(*dfa); !added) return added.error();
  }
  return all ? *std::move(all) : CharDfa::any_text();
}

Result<void> TextAutomata::subtract(const StringRules& rules, CharDfa& from) {
  const auto without = [&](const CharDfa& dfa) -> Result<void> {
    if (Result<void> go_on = ask(give_up_); !go_on) return go_on;
    Result<CharDfa> left = from.without(dfa, CharDfa::kStatesMax, give_up_);
    if (!left) return left.error();
    from = *std::move(left);
    return {};
  };
  for (const std::string& text : rules.patterns_not) {
    Result<const CharDfa*> dfa = pattern(text);
    if (!dfa) return dfa.error();
    if (Result<void> done = without(**dfa); !done) return done;
  }
  for (const std::string& format : rules.formats_not) {
    const CharDfa* dfa = widest_format_dfa(format);
    if (dfa == nullptr) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("whether a text is not of the format {} cannot be decided while it "
                               "is written; take the format out of not, if or oneOf",
                               format)};
    }
    if (Result<void> done = without(*dfa); !done) return done;
  }
  for (const std::string& format : rules.formats_not_wide) {
    if (Result<void> done = without(*format_dfa(format)); !done) return done;
  }
  if (rules.denied.empty()) return {};
  const Result<CharDfa> denied =
      CharDfa::literals(std::vector<std::string_view>(rules.denied.begin(), rules.denied.end()),
                        CharDfa::kStatesMax, give_up_);
  if (!denied) return denied.error();
  return without(*denied);
}

Result<CharDfa> TextAutomata::all_but(std::vector<std::string_view> texts) {
  std::ranges::sort(texts);
  std::vector<std::string> key(texts.begin(), texts.end());
  if (const auto found = all_but_.find(key); found != all_but_.end()) return found->second;
  Result<CharDfa> made = CharDfa::literals(texts, CharDfa::kStatesMax, give_up_);
  if (made) made = CharDfa::any_text().without(*made, CharDfa::kStatesMax, give_up_);
  if (made) all_but_.emplace(std::move(key), *made);
  return made;
}

Result<CountedTexts> TextAutomata::join(const StringRules& rules) {
  Result<CharDfa> all = wanted(rules);
  if (!all) return all.error();
  if (Result<void> done = subtract(rules, *all); !done) return done.error();
  CountedTexts texts = folded(*all);
  texts.count.min = std::max(texts.count.min, rules.length_min);
  texts.count.max = std::min(texts.count.max, rules.length_max.value_or(CharCount::kEndless));
  if (texts.empty() || texts.count.allows_all()) return texts;
  Result<TextLengths> lengths = TextLengths::find(texts.dfa, texts.count);
  if (!lengths) return lengths.error();
  if (!lengths->any(0, texts.count.min, texts.count.max)) return CountedTexts();
  // Lengths that the patterns bring with them cost nothing.
  if (texts.count.min <= lengths->shortest(0)) texts.count.min = 0;
  if (texts.count.max >= lengths->longest(0)) texts.count.max = CharCount::kEndless;
  return texts;
}

Result<CharDfa> TextAutomata::automaton(const StringRules& rules) {
  Result<const CountedTexts*> texts = this->texts(rules);
  if (!texts) return texts.error();
  const auto& [dfa, count] = **texts;
  if (dfa.empty() || count.allows_all()) return dfa;
  const bool ends = count.max != CharCount::kEndless;
  Result<CharDfa> length =
      CharDfa::length(count.min, ends ? std::optional(count.max) : std::nullopt, kTextStatesMax);
  if (length) length = dfa.intersect(*length, kTextStatesMax, give_up_);
  if (length || length.error().kind == ErrorKind::kUnavailable) return length;
  return Error{ErrorKind::kInvalid,
               fmt::format("here, together with this pattern or format, lengths can be enforced up "
                           "to about {}, not {}; leave minLength and maxLength out, or make them "
                           "smaller",
                           kTextStatesMax / dfa.states_count(), ends ? count.max : count.min)};
}

}  // namespace windrow::grammar
