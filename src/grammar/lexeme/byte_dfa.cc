#include "grammar/lexeme/byte_dfa.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ensure.h"
#include "grammar/lexeme/hash_tables.h"
#include "grammar/lexeme/range_nfa.h"

namespace windrow::grammar {
namespace {

// --- from characters to bytes
// ---------------------------------------------------------------------
//
// A range of code points is cut where the bytes after the first cannot all follow (Thompson's
// encoding, cut as in R. Cox, "Regular Expression Matching in the Wild", 2010). The states after a
// first byte are shared between all states that continue in the same way.

enum class Spelling : uint8_t {
  kUtf8,
  kJsonString,  // `"`, `\` and control characters escaped, as byte_dfa.h says
};

using State = RangeDfa::State;
using Edge = RangeDfa::Edge;

// The characters that JSON escapes, in order, and the letter of the short form or 0.
struct Escape {
  uint8_t character;
  char letter;
};

constexpr std::array<Escape, 34> kEscapes = [] {
  std::array<Escape, 34> escapes{};
  for (uint8_t i = 0; i < 32; ++i)
    escapes[i] = {i, 0};
  escapes['\b'].letter = 'b';
  escapes['\t'].letter = 't';
  escapes['\n'].letter = 'n';
  escapes['\f'].letter = 'f';
  escapes['\r'].letter = 'r';
  escapes[32] = {'"', '"'};
  escapes[33] = {'\\', '\\'};
  return escapes;
}();

using Targets = std::array<State, kEscapes.size()>;  // kDead: this one is not allowed

class Speller {
 public:
  Speller(const RangeDfa& dfa, Spelling spelling) : dfa_(dfa), spelling_(spelling) {}

  RangeDfa run() {
    for (State state = 0; state < dfa_.states_count(); ++state)
      spell(state);
    // Behind the states of `dfa_` those within characters.
    for (uint32_t id = 0; id < inner_.size(); ++id) {
      result_.begin_state(false);
      const auto numbers = inner_.get(id);
      for (size_t i = 0; i < numbers.size(); i += 3)
        result_.add_edge({numbers[i], numbers[i + 1]}, numbers[i + 2]);
    }
    return std::move(result_);
  }

 private:
  void spell(State state) {
    std::vector<Edge>& bytes = bytes_;
    bytes.clear();
    if (spelling_ == Spelling::kUtf8) {
      spell_ascii(state, {{0, 0x7F}}, bytes);
    } else {
      spell_ascii(state, {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7F}}, bytes);
      spell_escapes(state, bytes);
    }
    spell_long(state, bytes);
    std::sort(bytes.begin(), bytes.end(),
              [](const Edge& a, const Edge& b) { return a.on.first < b.on.first; });
    result_.begin_state(dfa_.accepting[state]);
    for (const Edge& edge : bytes)
      result_.add_edge(edge.on, edge.to);
  }

  // The number of the state within a character that has these edges.
  State inner(std::span<const Edge> edges) {
    numbers_.clear();
    for (const Edge& edge : edges)
      numbers_.insert(numbers_.end(), {edge.on.first, edge.on.last, edge.to});
    return static_cast<State>(dfa_.states_count()) + inner_.intern(numbers_).first;
  }

  State inner(CharRange on, State to) { return inner(std::array{Edge{on, to}}); }

  void spell_ascii(State state, std::initializer_list<CharRange> plain, std::vector<Edge>& bytes) {
    for (const Edge& edge : dfa_.edges_of(state)) {
      if (edge.on.first > 0x7F) break;
      for (const CharRange& range : plain) {
        const CharRange on{std::max(edge.on.first, range.first),
                           std::min(edge.on.last, range.last)};
        if (on.first <= on.last) bytes.push_back({on, edge.to});
      }
    }
  }

  void spell_escapes(State state, std::vector<Edge>& bytes) {
    // Nearly always they all lead to one state, by one edge up to the quotation mark.
    const auto edges = dfa_.edges_of(state);
    if (!edges.empty() && edges[0].on.first == 0 && edges[0].on.last >= '"' &&
        dfa_.next(state, '\\') == edges[0].to) {
      const State to = edges[0].to;
      const auto [known, is_new] = all_escapes_.try_emplace(to, 0);
      if (is_new) {
        Targets targets;
        targets.fill(to);
        known->second = escapes(targets);
      }
      bytes.push_back({{'\\', '\\'}, known->second});
      return;
    }
    Targets targets;
    bool any = false;
    bool alike = true;
    for (size_t i = 0; i < kEscapes.size(); ++i) {
      targets[i] = dfa_.next(state, kEscapes[i].character);
      any = any || targets[i] != RangeDfa::kDead;
      alike = alike && targets[i] == targets[0];
    }
    if (!any) return;
    State to = 0;
    if (alike) {
      const auto [known, is_new] = all_escapes_.try_emplace(targets[0], 0);
      if (is_new) known->second = escapes(targets);
      to = known->second;
    } else {
      to = escapes(targets);
    }
    bytes.push_back({{'\\', '\\'}, to});
  }

  // Behind the backslash.
  State escapes(const Targets& targets) {
    std::vector<Edge> letters;
    std::vector<Edge> tens;  // the third digit of \u00XY
    for (const char32_t ten : {0u, 1u, 2u, 5u}) {
      std::vector<Edge> ones;
      for (size_t i = 0; i < targets.size(); ++i) {
        const auto [character, letter] = kEscapes[i];
        if (targets[i] == RangeDfa::kDead || character / 16 != ten) continue;
        const auto short_form = static_cast<char32_t>(letter);
        if (letter != 0) letters.push_back({{short_form, short_form}, targets[i]});
        add_hex_digit(character % 16, targets[i], ones);
      }
      if (ones.empty()) continue;
      sort(ones);
      tens.push_back({{'0' + ten, '0' + ten}, inner(ones)});
    }
    const State zero_zero = inner(tens);
    const State zero = inner({'0', '0'}, zero_zero);
    letters.push_back({{'u', 'u'}, inner({'0', '0'}, zero)});
    sort(letters);
    return inner(letters);
  }

  static void add_hex_digit(char32_t digit, State to, std::vector<Edge>& edges) {
    if (digit < 10) {
      edges.push_back({{'0' + digit, '0' + digit}, to});
    } else {
      edges.push_back({{'A' + digit - 10, 'A' + digit - 10}, to});
      edges.push_back({{'a' + digit - 10, 'a' + digit - 10}, to});
    }
  }

  static void sort(std::vector<Edge>& edges) {
    std::sort(edges.begin(), edges.end(),
              [](const Edge& a, const Edge& b) { return a.on.first < b.on.first; });
  }

  void spell_long(State state, std::vector<Edge>& bytes) {
    std::vector<Edge>& edges = long_edges_;
    edges.clear();
    for (Edge edge : dfa_.edges_of(state)) {
      edge.on.first = std::max<char32_t>(edge.on.first, 0x80);
      if (edge.on.first <= edge.on.last) edges.push_back(edge);
    }
    if (edges.empty()) return;
    // Nearly always: all of them, to one state.
    const bool all = edges.size() == 2 && edges[0].to == edges[1].to &&
                     edges[0].on == CharRange{0x80, 0xD7FF} &&
                     edges[1].on == CharRange{0xE000, 0x10FFFF};
    if (!all) {
      spell_leads(edges, bytes);
      return;
    }
    auto [known, is_new] = all_leads_.try_emplace(edges[0].to);
    if (is_new) spell_leads(edges, known->second);
    bytes.insert(bytes.end(), known->second.begin(), known->second.end());
  }

  // The first bytes of characters of 2, 3 and 4 bytes.
  void spell_leads(const std::vector<Edge>& edges, std::vector<Edge>& bytes) {
    spell_blocks(0xC0, 1, 0, clipped(edges, {0x80, 0x7FF}), bytes);
    spell_blocks(0xE0, 2, 0, clipped(edges, {0x800, 0xFFFF}), bytes);
    spell_blocks(0xF0, 3, 0, clipped(edges, {0x10000, 0x10FFFF}), bytes);
  }

  static std::vector<Edge> clipped(const std::vector<Edge>& edges, CharRange to) {
    std::vector<Edge> result;
    for (Edge edge : edges) {
      edge.on = {std::max(edge.on.first, to.first), std::min(edge.on.last, to.last)};
      if (edge.on.first <= edge.on.last) result.push_back(edge);
    }
    return result;
  }

  // One byte, `mark` and a number in its low bits, for the characters from `base` on; `more` bytes
  // follow. A byte stands for a block of 64^more characters.
  void spell_blocks(uint32_t mark, int more, char32_t base, const std::vector<Edge>& edges,
                    std::vector<Edge>& bytes) {
    const char32_t size = char32_t{1} << (6 * more);
    char32_t done = base;  // everything before is spelled
    for (const Edge& edge : edges) {
      while (std::max(edge.on.first, done) <= edge.on.last) {
        const char32_t from = std::max(edge.on.first, done);
        const char32_t number = (from - base) / size;
        const char32_t block = base + number * size;
        const uint32_t whole = from == block ? (edge.on.last - block + 1) / size : 0;
        if (whole > 0) {
          bytes.push_back(
              {{mark + number, mark + number + whole - 1}, any_following(more, edge.to)});
          done = block + whole * size;
        } else {
          std::vector<Edge> following;
          spell_blocks(0x80, more - 1, block, clipped(edges, {block, block + size - 1}), following);
          bytes.push_back({{mark + number, mark + number}, inner(following)});
          done = block + size;
        }
      }
    }
  }

  // Whatever `count` bytes follow in a character, `to` is behind them.
  State any_following(int count, State to) {
    for (; count > 0; --count)
      to = inner({0x80, 0xBF}, to);
    return to;
  }

  const RangeDfa& dfa_;
  Spelling spelling_;
  Interner inner_;  // edges as first, last, to
  std::vector<uint32_t> numbers_;
  std::vector<Edge> bytes_;       // of the state that is spelled
  std::vector<Edge> long_edges_;  // for its characters of several bytes
  std::unordered_map<State, std::vector<Edge>> all_leads_;
  std::unordered_map<State, State> all_escapes_;
  RangeDfa result_;
};

// An automaton over bytes for one over code points. `dfa` is minimal, and so is the result: the
// states between characters differ as they did; those within a character have no edges in common
// with them, and are made once each. (In JSON strings the state after a backslash may equal a state
// between characters; that one may be double.)
RangeDfa spelled(const RangeDfa& dfa, Spelling spelling) {
  return Speller(dfa, spelling).run();
}

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

  // Separates the symbols that lead to one state from those that do not.
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
  std::vector<uint32_t> class_of_;  // by interval
  std::vector<uint32_t> sizes_;     // by class: how many intervals
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
