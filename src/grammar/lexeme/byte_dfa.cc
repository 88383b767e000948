#include "grammar/lexeme/byte_dfa.h"

#include <algorithm>
#include <initializer_list>

#include "base/ensure.h"
#include "grammar/lexeme/byte_spelling.h"
#include "grammar/lexeme/interner.h"
#include "grammar/lexeme/range_nfa.h"

namespace windrow::grammar {
namespace {

using State = ByteDfa::State;

// Bytes between two places where some edge begins or ends are told apart nowhere.
std::vector<uint8_t> interval_starts(const RangeDfa& dfa) {
  std::array<bool, 257> starts{};
  starts[0] = true;
  for (const RangeDfa::Edge& edge : dfa.edges) {
    starts[edge.on.first] = true;
    starts[edge.on.last + 1] = true;
  }
  std::vector<uint8_t> intervals;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (starts[byte]) intervals.push_back(static_cast<uint8_t>(byte));
  }
  return intervals;
}

// The states all bytes of each interval lead to: [state * intervals + interval].
std::vector<State> table_of(const RangeDfa& dfa, const std::vector<uint8_t>& intervals) {
  std::vector<State> table(dfa.states_count() * intervals.size(), ByteDfa::kDead);
  std::array<uint32_t, 256> interval_of{};
  for (uint32_t i = 0; i < intervals.size(); ++i)
    interval_of[intervals[i]] = i;
  for (State state = 0; state < dfa.states_count(); ++state) {
    for (const RangeDfa::Edge& edge : dfa.edges_of(state)) {
      uint32_t i = interval_of[edge.on.first];
      for (; i < intervals.size() && intervals[i] <= edge.on.last; ++i)
        table[state * intervals.size() + i] = edge.to;
    }
  }
  return table;
}

// JSON's strings, byte by byte, `from` before the character and `to` behind it.
class JsonCharacter {
 public:
  JsonCharacter(RangeNfa& nfa, RangeNfa::State from, RangeNfa::State to)
      : nfa_(nfa), from_(from), to_(to) {}

  void add() {
    const CharSet digit = set({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
    const CharSet following = set({{0x80, 0xBF}});
    // Well-formed bytes: table 3-7 of the Unicode standard.
    path({set({{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7F}})});
    path({set({{0xC2, 0xDF}}), following});
    path({set({{0xE0, 0xE0}}), set({{0xA0, 0xBF}}), following});
    path({set({{0xE1, 0xEC}, {0xEE, 0xEF}}), following, following});
    path({set({{0xED, 0xED}}), set({{0x80, 0x9F}}), following});
    path({set({{0xF0, 0xF0}}), set({{0x90, 0xBF}}), following, following});
    path({set({{0xF1, 0xF3}}), following, following, following});
    path({set({{0xF4, 0xF4}}), set({{0x80, 0x8F}}), following, following});
    // Escapes; surrogates only in pairs.
    const CharSet backslash = CharSet::one('\\');
    const CharSet u = CharSet::one('u');
    const CharSet d = set({{'D', 'D'}, {'d', 'd'}});
    const CharSet high = set({{'8', '9'}, {'A', 'B'}, {'a', 'b'}});
    const CharSet low = set({{'C', 'F'}, {'c', 'f'}});
    CharSet short_form;
    for (const char letter : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'})
      short_form = short_form | CharSet::one(static_cast<char32_t>(letter));
    path({backslash, short_form});
    path({backslash, u, digit & ~d, digit, digit, digit});
    path({backslash, u, d, set({{'0', '7'}}), digit, digit});
    path({backslash, u, d, high, digit, digit, backslash, u, d, low, digit, digit});
  }

 private:
  static CharSet set(std::vector<CharRange> ranges) { return CharSet(std::move(ranges)); }

  void path(std::initializer_list<CharSet> bytes) {
    RangeNfa::State at = from_;
    for (const CharSet& on : bytes) {
      const bool last = &on == bytes.end() - 1;
      const RangeNfa::State next = last ? to_ : nfa_.add_state();
      nfa_.add_edge(at, on, next);
      at = next;
    }
  }

  RangeNfa& nfa_;
  RangeNfa::State from_;
  RangeNfa::State to_;
};

std::shared_ptr<const ByteDfa> json_characters(bool any_number) {
  RangeNfa nfa;
  const auto first = nfa.add_state();
  const auto behind = any_number ? first : nfa.add_state();
  JsonCharacter(nfa, first, behind).add();
  const auto dfa = nfa.determinise({first, behind, {}}, CharDfa::kStatesMax);
  ENSURE(dfa.has_value(), "the characters of JSON strings need few states");
  return byte_dfa(minimal(*dfa));
}

}  // namespace

bool ByteDfa::contains(std::string_view bytes) const {
  State state = 0;
  for (const char byte : bytes) {
    state = next(state, static_cast<uint8_t>(byte));
    if (state == kDead) return false;
  }
  return accepting[state];
}

std::shared_ptr<const ByteDfa> byte_dfa(const RangeDfa& dfa) {
  ENSURE(dfa.states_count() > 0, "an automaton without any text cannot be run");
  const std::vector<uint8_t> intervals = interval_starts(dfa);
  const std::vector<State> table = table_of(dfa, intervals);
  const size_t states = dfa.states_count();

  // Intervals that lead to the same states everywhere are one class.
  auto result = std::make_shared<ByteDfa>();
  Interner columns;
  std::vector<uint32_t> column(states);
  for (size_t i = 0; i < intervals.size(); ++i) {
    for (size_t state = 0; state < states; ++state)
      column[state] = table[state * intervals.size() + i];
    const auto number = static_cast<uint8_t>(columns.intern(column).first);
    const uint32_t end = i + 1 < intervals.size() ? intervals[i + 1] : 256;
    for (uint32_t byte = intervals[i]; byte < end; ++byte)
      result->class_of[byte] = number;
  }
  result->classes_count = static_cast<uint32_t>(columns.size());
  result->next_of.resize(states * result->classes_count);
  for (uint32_t number = 0; number < result->classes_count; ++number) {
    const auto next = columns.get(number);
    for (size_t state = 0; state < states; ++state)
      result->next_of[state * result->classes_count + number] = next[state];
  }
  result->accepting = dfa.accepting;
  return result;
}

std::shared_ptr<const ByteDfa> utf8_dfa(const CharDfa& dfa) {
  return byte_dfa(spelled(dfa.ranges(), Spelling::kUtf8));
}

std::shared_ptr<const ByteDfa> json_string_dfa(const CharDfa& dfa) {
  static const CharDfa any_text = CharDfa::any_text();
  static const CharDfa any_character = CharDfa::one_of(CharSet::all());
  if (dfa == any_text) return json_any_string_dfa();
  if (dfa == any_character) return json_any_character_dfa();
  return byte_dfa(spelled(dfa.ranges(), Spelling::kJsonString));
}

std::shared_ptr<const ByteDfa> json_any_string_dfa() {
  static const std::shared_ptr<const ByteDfa> dfa = json_characters(true);
  return dfa;
}

std::shared_ptr<const ByteDfa> json_any_character_dfa() {
  static const std::shared_ptr<const ByteDfa> dfa = json_characters(false);
  return dfa;
}

}  // namespace windrow::grammar
