#include "grammar/lexeme/byte_dfa.h"

#include <algorithm>
#include <initializer_list>

#include "base/ensure.h"
#include "grammar/lexeme/byte_spelling.h"
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

// Which intervals lead to the same states everywhere: of each, the first such one.
std::vector<size_t> alike_intervals(const std::vector<State>& table, size_t width) {
  std::vector<uint64_t> hashes(width, 0);
  for (size_t i = 0; i < table.size(); i += width) {
    for (size_t column = 0; column < width; ++column) {
      hashes[column] = (hashes[column] ^ table[i + column]) * 0xD6E8FEB86659FD93ULL;
      hashes[column] ^= hashes[column] >> 32;
    }
  }
  const auto alike = [&](size_t a, size_t b) {
    if (hashes[a] != hashes[b]) return false;
    for (size_t i = 0; i < table.size(); i += width) {
      if (table[i + a] != table[i + b]) return false;
    }
    return true;
  };
  std::vector<size_t> first(width);
  for (size_t column = 0; column < width; ++column) {
    first[column] = 0;
    while (!alike(first[column], column))
      ++first[column];
  }
  return first;
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
  const std::vector<size_t> alike = alike_intervals(table, intervals.size());

  auto result = std::make_shared<ByteDfa>();
  std::vector<size_t> firsts;  // of each class, one of its intervals
  std::vector<uint8_t> class_of(intervals.size());
  for (size_t i = 0; i < intervals.size(); ++i) {
    if (alike[i] == i) {
      class_of[i] = static_cast<uint8_t>(firsts.size());
      firsts.push_back(i);
    } else {
      class_of[i] = class_of[alike[i]];
    }
    const uint32_t end = i + 1 < intervals.size() ? intervals[i + 1] : 256;
    for (uint32_t byte = intervals[i]; byte < end; ++byte)
      result->class_of[byte] = class_of[i];
  }
  result->classes_count = static_cast<uint32_t>(firsts.size());
  result->next_of.reserve(dfa.states_count() * firsts.size());
  for (size_t row = 0; row < table.size(); row += intervals.size()) {
    for (const size_t first : firsts)
      result->next_of.push_back(table[row + first]);
  }
  result->accepting = dfa.accepting;
  return result;
}

std::shared_ptr<const ByteDfa> utf8_dfa(const CharDfa& dfa) {
  return byte_dfa(spelled(dfa.ranges(), Spelling::kUtf8));
}

std::shared_ptr<const ByteDfa> json_string_dfa(const CharDfa& dfa) {
  static const CharDfa any_character = CharDfa::one_of(CharSet::all());
  ENSURE(!dfa.empty(), "an automaton without any text cannot be run");
  if (dfa == CharDfa::any_text()) return json_any_string_dfa();
  if (dfa == any_character) return json_any_character_dfa();
  CharDfa::Shared& shared = *dfa.shared_;
  std::call_once(shared.json_once, [&shared] {
    shared.json = byte_dfa(spelled(shared.ranges, Spelling::kJsonString));
  });
  return shared.json;
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
