#include "grammar/lexeme/byte_dfa.h"

#include <algorithm>
#include <initializer_list>

#include "base/ensure.h"
#include "grammar/lexeme/byte_spelling.h"
#include "grammar/lexeme/range_nfa.h"

namespace windrow::grammar {
namespace {

// Which bytes lead to the same states everywhere. Bytes between two places where some edge begins
// or ends are alike from the start; the classes of such intervals are split state by state.
class ByteClasses {
 public:
  explicit ByteClasses(const RangeDfa& dfa) {
    find_intervals(dfa);
    RangeDfa::State state = 0;
    for (; state < dfa.states_count() && sizes_.size() < class_of_.size(); ++state)
      split_by(dfa.edges_of(state));
    number_in_order();
  }

  uint32_t count() const { return static_cast<uint32_t>(sizes_.size()); }

  // Calls `visit` with each class that the bytes of an edge have, perhaps more than once.
  template <class Visit>
  void for_classes(const CharRange& on, const Visit& visit) const {
    for (uint32_t i = interval_of_[on.first]; i <= interval_of_[on.last]; ++i)
      visit(class_of_[i]);
  }

  uint8_t class_of(uint32_t byte) const {
    return static_cast<uint8_t>(class_of_[interval_of_[byte]]);
  }

 private:
  void find_intervals(const RangeDfa& dfa) {
    std::array<bool, 257> starts{};
    for (const RangeDfa::Edge& edge : dfa.edges)
      starts[edge.on.first] = starts[edge.on.last + 1] = true;
    uint32_t interval = 0;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (byte > 0 && starts[byte]) ++interval;
      interval_of_[byte] = interval;
    }
    class_of_.assign(interval + 1, 0);
    sizes_ = {interval + 1};
  }

  // What leads to one state from here is kept apart from what does not.
  void split_by(std::span<const RangeDfa::Edge> edges) {
    edges_.assign(edges.begin(), edges.end());
    std::sort(edges_.begin(), edges_.end(),
              [](const RangeDfa::Edge& a, const RangeDfa::Edge& b) { return a.to < b.to; });
    for (size_t first = 0; first < edges_.size();) {
      size_t behind = first;
      while (behind < edges_.size() && edges_[behind].to == edges_[first].to)
        ++behind;
      split(std::span(edges_).subspan(first, behind - first));
      first = behind;
    }
  }

  void split(std::span<const RangeDfa::Edge> together) {
    marked_.assign(sizes_.size(), 0);
    for (const RangeDfa::Edge& edge : together)
      for_classes(edge.on, [this](uint32_t number) { ++marked_[number]; });
    // The marked part of a class that has others moves out.
    moved_to_.assign(marked_.size(), 0);
    for (uint32_t number = 0; number < marked_.size(); ++number) {
      moved_to_[number] = number;
      if (marked_[number] == 0 || marked_[number] == sizes_[number]) continue;
      moved_to_[number] = static_cast<uint32_t>(sizes_.size());
      sizes_.push_back(marked_[number]);
      sizes_[number] -= marked_[number];
    }
    if (sizes_.size() == marked_.size()) return;
    for (const RangeDfa::Edge& edge : together) {
      for (uint32_t i = interval_of_[edge.on.first]; i <= interval_of_[edge.on.last]; ++i)
        class_of_[i] = moved_to_[class_of_[i]];
    }
  }

  // Classes as their first bytes come.
  void number_in_order() {
    std::vector<uint32_t> numbers(sizes_.size(), UINT32_MAX);
    uint32_t next = 0;
    for (uint32_t& number : class_of_) {
      if (numbers[number] == UINT32_MAX) numbers[number] = next++;
      number = numbers[number];
    }
  }

  std::array<uint32_t, 256> interval_of_{};
  std::vector<uint32_t> class_of_;  // of intervals
  std::vector<uint32_t> sizes_;     // of classes, in intervals
  std::vector<RangeDfa::Edge> edges_;
  std::vector<uint32_t> marked_;
  std::vector<uint32_t> moved_to_;
};

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
  const ByteClasses classes(dfa);
  auto result = std::make_shared<ByteDfa>();
  for (uint32_t byte = 0; byte < 256; ++byte)
    result->class_of[byte] = classes.class_of(byte);
  result->classes_count = classes.count();
  result->next_of.assign(dfa.states_count() * classes.count(), ByteDfa::kDead);
  for (RangeDfa::State state = 0; state < dfa.states_count(); ++state) {
    ByteDfa::State* next = &result->next_of[size_t{state} * classes.count()];
    for (const RangeDfa::Edge& edge : dfa.edges_of(state))
      classes.for_classes(edge.on, [next, &edge](uint32_t number) { next[number] = edge.to; });
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
