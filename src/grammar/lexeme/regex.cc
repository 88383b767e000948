#include "grammar/lexeme/regex.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "grammar/lexeme/range_nfa.h"
#include "grammar/lexeme/regex_parser.h"

namespace windrow::grammar {
namespace {

using Kind = RegexNode::Kind;

constexpr size_t kPatternBytesMax = 250'000;

Error too_large(size_t states_max) {
  return {ErrorKind::kInvalid,
          fmt::format("the pattern needs more than {} states: make its numbers of repetitions "
                      "smaller, or anchor it with ^ and $",
                      states_max)};
}

// Thompson's construction; counted repetitions are written out.
class Builder {
 public:
  Builder(RangeNfa& nfa, size_t states_max) : nfa_(nfa), states_max_(states_max) {}

  // The state behind `parts`, which begin at `from`. Too many states: it stops somewhere.
  Result<RangeNfa::State> sequence(std::span<const RegexNode> parts, RangeNfa::State from) {
    for (const RegexNode& part : parts) {
      const auto behind = build(part, from);
      if (!behind) return behind;
      from = *behind;
    }
    return from;
  }

 private:
  using State = RangeNfa::State;

  Result<State> build(const RegexNode& node, State from) {
    if (nfa_.states_count() > states_max_ * kNfaStates) return too_large(states_max_);
    switch (node.kind) {
      case Kind::kSequence:
        return sequence(node.parts, from);
      case Kind::kChoice:
        return choice(node, from);
      case Kind::kRepeat:
        return repeat(node, from);
      case Kind::kStart:
        return after_free_edge(from, RangeNfa::Place::kAtStart);
      case Kind::kEnd:
        return after_free_edge(from, RangeNfa::Place::kAtEnd);
      case Kind::kAhead:
      case Kind::kNotAhead:
        return regex_error(node.at,
                           "a look-ahead can be enforced at the very beginning only, behind ^; "
                           "say what follows as part of the pattern");
      case Kind::kSet:
        break;
    }
    const State behind = nfa_.add_state();
    nfa_.add_edge(from, node.set, behind);
    return behind;
  }

  State after_free_edge(State from, RangeNfa::Place place) {
    const State behind = nfa_.add_state();
    nfa_.add_free_edge(from, behind, place);
    return behind;
  }

  Result<State> choice(const RegexNode& node, State from) {
    const State behind = nfa_.add_state();
    for (const RegexNode& part : node.parts) {
      const auto end = build(part, from);
      if (!end) return end;
      nfa_.add_free_edge(*end, behind);
    }
    return behind;
  }

  Result<State> repeat(const RegexNode& node, State from) {
    const RegexNode& body = node.parts[0];
    // The last one that must be there is also the one that may come again.
    const uint32_t apart = node.max || node.min == 0 ? node.min : node.min - 1;
    for (uint32_t i = 0; i < apart; ++i) {
      const auto end = build(body, from);
      if (!end) return end;
      from = *end;
    }
    if (!node.max) {
      // Back to a state of its own: `from` may be where something else goes on, too.
      const State loop = after_free_edge(from, RangeNfa::Place::kAnywhere);
      const auto end = build(body, loop);
      if (!end) return end;
      nfa_.add_free_edge(*end, loop);
      return node.min == 0 ? loop : after_free_edge(*end, RangeNfa::Place::kAnywhere);
    }
    const State behind = nfa_.add_state();
    nfa_.add_free_edge(from, behind);
    for (uint32_t i = node.min; i < *node.max; ++i) {
      const auto end = build(body, from);
      if (!end) return end;
      nfa_.add_free_edge(*end, behind);
      from = *end;
    }
    return behind;
  }

  // Most states of an NFA are no states of their own in the end.
  static constexpr size_t kNfaStates = 8;

  RangeNfa& nfa_;
  size_t states_max_;
};

Result<CharDfa> automaton(std::span<const RegexNode> parts, RegexMeaning meaning, size_t states_max,
                          const GiveUp& give_up) {
  RangeNfa nfa;
  RangeNfa::Ends ends;
  ends.first = nfa.add_state();
  auto from = ends.first;
  if (meaning == RegexMeaning::kSearch) {
    nfa.add_edge(ends.first, CharSet::all(), ends.first);
    from = nfa.add_state();
    nfa.add_free_edge(ends.first, from);
  }
  const auto behind = Builder(nfa, states_max).sequence(parts, from);
  if (!behind) return behind.error();
  ends.accepting = *behind;
  if (meaning == RegexMeaning::kSearch) {
    ends.accepting = nfa.add_state();
    nfa.add_free_edge(*behind, ends.accepting);
    nfa.add_edge(ends.accepting, CharSet::all(), ends.accepting);
    ends.universal = ends.accepting;
  }
  Result<RangeDfa> dfa = nfa.determinise(ends, states_max, give_up);
  if (!dfa && dfa.error().kind == ErrorKind::kInvalid) return too_large(states_max);
  if (dfa) dfa = minimal(*dfa, give_up);
  if (!dfa) return dfa.error();
  return CharDfa::of_minimal(*std::move(dfa));
}

// The texts that begin with what the look-ahead wants, or do not begin so.
Result<CharDfa> looked_ahead(const RegexNode& look, size_t states_max, const GiveUp& give_up) {
  std::vector<RegexNode> parts{{.kind = Kind::kStart, .at = look.at}};
  parts.insert(parts.end(), look.parts.begin(), look.parts.end());
  auto dfa = automaton(parts, RegexMeaning::kSearch, states_max, give_up);
  if (!dfa || look.kind == Kind::kAhead) return dfa;
  return CharDfa::any_text().without(*dfa, states_max, give_up);
}

bool is_look(const RegexNode& node) {
  return node.kind == Kind::kAhead || node.kind == Kind::kNotAhead;
}

// An alternative of the whole pattern. Look-aheads at its beginning, where that is the text's, are
// texts of their own that it is intersected with.
Result<CharDfa> alternative(const RegexNode& node, RegexMeaning meaning, size_t states_max,
                            const GiveUp& give_up) {
  std::span<const RegexNode> parts(&node, 1);
  if (node.kind == Kind::kSequence) parts = node.parts;
  size_t looks = 0;
  const bool anchored = !parts.empty() && parts[0].kind == Kind::kStart;
  const size_t first = anchored ? 1 : 0;
  if (anchored || meaning == RegexMeaning::kWhole) {
    while (first + looks < parts.size() && is_look(parts[first + looks]))
      ++looks;
  }
  if (looks == 0) return automaton(parts, meaning, states_max, give_up);
  std::vector<RegexNode> rest{{.kind = Kind::kStart, .at = node.at}};
  rest.insert(rest.end(), parts.begin() + static_cast<std::ptrdiff_t>(first + looks), parts.end());
  auto result = automaton(rest, meaning, states_max, give_up);
  for (const RegexNode& look : parts.subspan(first, looks)) {
    if (!result) return result;
    const auto wanted = looked_ahead(look, states_max, give_up);
    if (!wanted) return wanted;
    result = result->intersect(*wanted, states_max, give_up);
  }
  return result;
}

}  // namespace

Result<CharDfa> regex_dfa(std::string_view pattern, RegexMeaning meaning, size_t states_max,
                          const GiveUp& give_up) {
  if (pattern.size() > kPatternBytesMax) {
    return Error{ErrorKind::kInvalid, fmt::format("the pattern has {} bytes; up to {} are handled",
                                                  pattern.size(), kPatternBytesMax)};
  }
  const auto tree = parse_regex(pattern);
  if (!tree) return tree.error();
  if (tree->kind != Kind::kChoice) return alternative(*tree, meaning, states_max, give_up);
  // One automaton for all, but for alternatives with look-aheads.
  bool has_look = false;
  for (const RegexNode& part : tree->parts) {
    for (const RegexNode& inner : part.parts)
      has_look = has_look || is_look(inner);
  }
  if (!has_look) return automaton(std::span(&*tree, 1), meaning, states_max, give_up);
  CharDfa result;
  for (const RegexNode& part : tree->parts) {
    const auto next = alternative(part, meaning, states_max, give_up);
    if (!next) return next;
    auto both = result.unite(*next, states_max, give_up);
    if (!both) return both;
    result = std::move(*both);
  }
  return result;
}

}  // namespace windrow::grammar
