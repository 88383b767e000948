#include "grammar/schema/single_spelling.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ensure.h"
#include "grammar/lexeme/regex.h"

namespace windrow::grammar {
namespace {

using State = RangeDfa::State;
using Edge = RangeDfa::Edge;

// The characters that have a short form, and its letter.
constexpr std::array<std::pair<char32_t, char32_t>, 7> kShortForms{{{U'"', U'"'},
                                                                    {U'\\', U'\\'},
                                                                    {U'\b', U'b'},
                                                                    {U'\f', U'f'},
                                                                    {U'\n', U'n'},
                                                                    {U'\r', U'r'},
                                                                    {U'\t', U't'}}};

constexpr std::array<CharRange, 3> kPlain{{{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x10FFFF}}};

bool has_short_form(char32_t character) {
  return std::ranges::find(kShortForms, character, &std::pair<char32_t, char32_t>::first) !=
         kShortForms.end();
}

// State 0 is before the first quote; those of the texts follow, then the end, then those within an
// escape.
class Quoter {
 public:
  explicit Quoter(const RangeDfa& texts) : texts_(texts) {}

  CharDfa run() {
    RangeDfa result;
    result.begin_state(false);
    result.add_edge({U'"', U'"'}, 1);
    for (State state = 0; state < texts_.states_count(); ++state)
      add_state(result, edges_of(state));
    result.begin_state(true);
    for (const std::vector<Edge>& edges : escapes_)
      add_state(result, edges);
    return CharDfa(result);
  }

 private:
  static void add_state(RangeDfa& result, const std::vector<Edge>& edges) {
    result.begin_state(false);
    for (const Edge& edge : edges)
      result.add_edge(edge.on, edge.to);
  }

  State end() const { return static_cast<State>(texts_.states_count() + 1); }

  std::vector<Edge> edges_of(State state) {
    std::vector<Edge> edges;
    for (const Edge& edge : texts_.edges_of(state)) {
      for (const CharRange& plain : kPlain) {
        const CharRange on{std::max(edge.on.first, plain.first),
                           std::min(edge.on.last, plain.last)};
        if (on.first <= on.last) edges.push_back({on, edge.to + 1});
      }
    }
    if (texts_.accepting[state]) edges.push_back({{U'"', U'"'}, end()});
    const std::vector<Edge> letters = escapes_of(state);
    if (!letters.empty()) edges.push_back({{U'\\', U'\\'}, escape(letters)});
    sort(edges);
    return edges;
  }

  // What may follow a backslash.
  std::vector<Edge> escapes_of(State state) {
    std::vector<Edge> letters;
    for (const auto& [character, letter] : kShortForms) {
      const State to = texts_.next(state, character);
      if (to != RangeDfa::kDead) letters.push_back({{letter, letter}, to + 1});
    }
    std::vector<Edge> tens;  // the third digit of \u001f
    for (const char32_t ten : {0U, 1U}) {
      std::vector<Edge> ones;
      for (char32_t one = 0; one < 16; ++one) {
        const State to = texts_.next(state, ten * 16 + one);
        if (to == RangeDfa::kDead || has_short_form(ten * 16 + one)) continue;
        const char32_t digit = one < 10 ? U'0' + one : U'a' + one - 10;
        ones.push_back({{digit, digit}, to + 1});
      }
      if (!ones.empty()) tens.push_back({{U'0' + ten, U'0' + ten}, escape(ones)});
    }
    if (!tens.empty()) {
      const State second = escape({{{U'0', U'0'}, escape(tens)}});
      letters.push_back({{U'u', U'u'}, escape({{{U'0', U'0'}, second}})});
    }
    sort(letters);
    return letters;
  }

  State escape(std::vector<Edge> edges) {
    escapes_.push_back(std::move(edges));
    return end() + static_cast<State>(escapes_.size());
  }

  static void sort(std::vector<Edge>& edges) {
    std::ranges::sort(edges, {}, [](const Edge& edge) { return edge.on.first; });
  }

  const RangeDfa& texts_;
  std::vector<std::vector<Edge>> escapes_;
};

CharDfa of_pattern(std::string_view pattern) {
  Result<CharDfa> dfa = regex_dfa(pattern, RegexMeaning::kWhole);
  ENSURE(dfa.has_value(), "{}: {}", pattern, dfa.error().message);
  return *std::move(dfa);
}

CharDfa with_digits(std::string_view digits) {
  const CharDfa form = of_pattern(R"(0|-?[1-9][0-9]*(\.[0-9]*[1-9])?|-?0\.[0-9]*[1-9])");
  Result<CharDfa> both = form.intersect(of_pattern(digits));
  if (both) both = both->without(of_pattern(R"(-?0\.000000[0-9]*)"));
  ENSURE(both.has_value(), "{}", both.error().message);
  return *std::move(both);
}

// Of bytes below 128, as numbers have them.
CharDfa of_bytes(const ByteDfa& bytes) {
  RangeDfa result;
  for (ByteDfa::State state = 0; state < bytes.states_count(); ++state) {
    result.begin_state(bytes.accepting[state]);
    for (uint32_t byte = 0; byte < 128; ++byte) {
      const ByteDfa::State to = bytes.next(state, static_cast<uint8_t>(byte));
      if (to != ByteDfa::kDead) result.add_edge({byte, byte}, to);
    }
  }
  return CharDfa(result);
}

}  // namespace

CharDfa quoted_texts(const CharDfa& texts) {
  return texts.empty() ? texts : Quoter(texts.ranges()).run();
}

Result<CharDfa> single_numbers(const ByteDfa& numbers, NumberKind kind) {
  static const CharDfa of_15_digits = with_digits(R"(-?([0-9]\.?){1,15})");
  static const CharDfa of_20_digits = with_digits(R"(-?([0-9]\.?){1,20})");
  static const CharDfa with_point = of_pattern(R"([^.]*\.[^.]*)");
  constexpr size_t kStatesMax = 100'000;
  const CharDfa all = of_bytes(numbers);
  for (const CharDfa* form : {&of_15_digits, &of_20_digits}) {
    Result<CharDfa> some = all.intersect(*form, kStatesMax);
    if (some && kind == NumberKind::kIntegers) some = some->without(with_point, kStatesMax);
    if (some && kind == NumberKind::kFractions) some = some->intersect(with_point, kStatesMax);
    if (!some || !some->empty()) return some;
  }
  return CharDfa::nothing();
}

std::optional<uint32_t> texts_count(const CharDfa& texts, uint32_t most) {
  if (texts.empty()) return 0;
  // Depth first, by hand: automata may be deep. A circle means infinitely many texts.
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  struct Visit {
    CharDfa::State state;
    size_t next = 0;
  };
  std::vector<Mark> marks(texts.states_count(), Mark::kNew);
  std::vector<uint64_t> counts(texts.states_count());
  std::vector<Visit> path{{0}};
  marks[0] = Mark::kOpen;
  while (!path.empty()) {
    auto& [state, next] = path.back();
    const auto edges = texts.edges(state);
    if (next < edges.size()) {
      const CharDfa::State to = edges[next++].to;
      if (marks[to] == Mark::kOpen) return std::nullopt;
      if (marks[to] == Mark::kDone) continue;
      marks[to] = Mark::kOpen;
      path.push_back({to});
      continue;
    }
    uint64_t count = texts.accepts(state) ? 1 : 0;
    for (const CharDfa::Edge& edge : edges) {
      const uint64_t characters = edge.on.last - edge.on.first + 1;
      count = std::min<uint64_t>(count + characters * counts[edge.to], uint64_t{most} + 1);
    }
    counts[state] = count;
    marks[state] = Mark::kDone;
    path.pop_back();
  }
  if (counts[0] > most) return std::nullopt;
  return static_cast<uint32_t>(counts[0]);
}

}  // namespace windrow::grammar
