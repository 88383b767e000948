#include "grammar/lexeme/byte_spelling.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/lexeme/interner.h"

namespace windrow::grammar {
namespace {

using State = RangeDfa::State;
using Edge = RangeDfa::Edge;

// What JSON escapes, in order, and the letter of the short form or 0.
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
    std::vector<Edge> bytes;
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
    std::vector<Edge> edges;
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
    char32_t done = base;  // what lies before is spelled
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
  std::unordered_map<State, std::vector<Edge>> all_leads_;
  std::unordered_map<State, State> all_escapes_;
  RangeDfa result_;
};

}  // namespace

RangeDfa spelled(const RangeDfa& dfa, Spelling spelling) {
  return Speller(dfa, spelling).run();
}

}  // namespace windrow::grammar
