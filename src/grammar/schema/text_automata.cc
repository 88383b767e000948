#include "grammar/schema/text_automata.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "grammar/lexeme/formats.h"
#include "grammar/lexeme/regex.h"

namespace windrow::grammar {
namespace {

// A state for each length and each state of a pattern.
constexpr size_t kTextStatesMax = 40'000;

// Finding the lengths of texts is not worth more than this.
constexpr size_t kLevelsMax = 300;

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

struct LengthRange {
  size_t min = 0;
  std::optional<size_t> max;  // nothing: no end
};

// The lengths of the texts of `dfa`; 0 and 0 if it has none.
LengthRange lengths_of(const CharDfa& dfa) {
  LengthRange range;
  if (dfa.empty()) return {.max = 0};
  // Level by level: the states that texts of this length reach. Every state leads to an end, so a
  // level beyond the number of states means a circle.
  std::vector<bool> reached(dfa.states_count(), false);
  std::vector<CharDfa::State> level{0};
  bool ended = false;
  for (size_t length = 0; !level.empty(); ++length) {
    if (length > dfa.states_count() || length > kLevelsMax) {
      range.max.reset();
      return range;
    }
    std::vector<CharDfa::State> next;
    for (const CharDfa::State state : level) {
      if (dfa.accepts(state)) {
        if (!ended) range.min = length;
        ended = true;
        range.max = length;
      }
      for (const CharDfa::Edge& edge : dfa.edges(state)) {
        if (!reached[edge.to]) next.push_back(edge.to);
        reached[edge.to] = true;
      }
    }
    for (const CharDfa::State state : next)
      reached[state] = false;
    level = std::move(next);
  }
  return range;
}

}  // namespace

Result<const CharDfa*> TextAutomata::pattern(const std::string& pattern) {
  const auto found = patterns_.find(pattern);
  if (found != patterns_.end()) return &found->second;
  Result<CharDfa> made = regex_dfa(pattern, RegexMeaning::kSearch);
  if (!made) return made.error();
  return &patterns_.emplace(pattern, *std::move(made)).first->second;
}

Result<const CharDfa*> TextAutomata::texts(const StringRules& rules) {
  const std::string key = automaton_key(rules);
  const auto found = texts_.find(key);
  if (found != texts_.end()) return &found->second;
  Result<CharDfa> made = join(rules);
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
    Result<CharDfa> both = all->intersect(dfa);
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
  const auto without = [&from](const CharDfa& dfa) -> Result<void> {
    Result<CharDfa> left = from.without(dfa);
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
  return without(
      CharDfa::literals(std::vector<std::string_view>(rules.denied.begin(), rules.denied.end())));
}

Result<CharDfa> TextAutomata::join(const StringRules& rules) {
  Result<CharDfa> all = wanted(rules);
  if (!all) return all;
  if (Result<void> done = subtract(rules, *all); !done) return done.error();
  // Lengths that the patterns bring with them cost nothing.
  const LengthRange range = lengths_of(*all);
  const uint32_t min = rules.length_min > range.min ? rules.length_min : 0;
  std::optional<uint32_t> max = rules.length_max;
  if (max && range.max && *range.max <= *max) max.reset();
  if (min == 0 && !max) return *std::move(all);
  const Error too_long{
      ErrorKind::kInvalid,
      fmt::format("together with this pattern or format, lengths can be enforced up to about {}, "
                  "not {}; leave minLength and maxLength out, or make them smaller",
                  kTextStatesMax / std::max<size_t>(all->states_count(), 1),
                  std::max(min, max.value_or(0)))};
  Result<CharDfa> length = CharDfa::length(min, max, kTextStatesMax);
  if (length) {
    Result<CharDfa> both = all->intersect(*length, kTextStatesMax);
    if (both) return both;
  }
  // A large maxLength is kept by never writing texts as long as that. None at all is no answer.
  const auto handled = static_cast<uint32_t>(kTextStatesMax / (all->states_count() + 1));
  if (!max || handled >= *max || handled < min || handled == 0) return too_long;
  length = CharDfa::length(min, handled, kTextStatesMax);
  if (!length) return too_long;
  Result<CharDfa> shorter = all->intersect(*length, kTextStatesMax);
  if (!shorter || shorter->empty()) return too_long;
  return shorter;
}

}  // namespace windrow::grammar
