#include "grammar/lexeme/text_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace windrow::grammar {
namespace {

using LengthState = TextLengths::State;
constexpr uint32_t kEndless = TextLengths::kEndless;

// Edges looked at to work out lengths one by one: about 50 ms.
constexpr uint64_t kWorkMax = 30'000'000;
constexpr uint64_t kRowsBytesMax = 8U << 20;

// The edges of an automaton without what they are on.
struct Graph {
  std::vector<uint32_t> from{0};
  std::vector<LengthState> to;
  std::vector<bool> accepting;
  size_t between = 0;  // an edge to one of the first states is a whole character

  size_t size() const { return accepting.size(); }
  std::span<const LengthState> next(LengthState state) const {
    return std::span(to).subspan(from[state], from[state + 1] - from[state]);
  }
  uint32_t chars(LengthState target) const { return target < between ? 1 : 0; }

  void end_state(std::vector<LengthState>& targets) {
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    to.insert(to.end(), targets.begin(), targets.end());
    from.push_back(static_cast<uint32_t>(to.size()));
    targets.clear();
  }
};

Graph graph_of(const CharDfa& dfa) {
  Graph graph;
  graph.between = dfa.states_count();
  std::vector<LengthState> targets;
  for (LengthState state = 0; state < dfa.states_count(); ++state) {
    for (const CharDfa::Edge& edge : dfa.edges(state))
      targets.push_back(edge.to);
    graph.accepting.push_back(dfa.accepts(state));
    graph.end_state(targets);
  }
  return graph;
}

Graph graph_of(const ByteDfa& dfa, size_t between) {
  Graph graph;
  graph.between = between;
  graph.accepting = dfa.accepting;
  std::vector<LengthState> targets;
  for (size_t state = 0; state < dfa.states_count(); ++state) {
    const ByteDfa::State* const row = &dfa.next_of[state * dfa.classes_count];
    for (uint32_t i = 0; i < dfa.classes_count; ++i) {
      if (row[i] != ByteDfa::kDead && (targets.empty() || targets.back() != row[i]))
        targets.push_back(row[i]);
    }
    graph.end_state(targets);
  }
  return graph;
}

Graph reversed(const Graph& graph) {
  Graph back;
  back.from.assign(graph.size() + 1, 0);
  back.to.resize(graph.to.size());
  for (const LengthState to : graph.to)
    ++back.from[to + 1];
  for (size_t i = 1; i < back.from.size(); ++i)
    back.from[i] += back.from[i - 1];
  std::vector<uint32_t> at(back.from.begin(), back.from.end() - 1);
  for (LengthState state = 0; state < graph.size(); ++state) {
    for (const LengthState to : graph.next(state))
      back.to[at[to]++] = state;
  }
  return back;
}

uint32_t longer(uint32_t length, uint32_t chars) {
  return length == kEndless ? kEndless : length + chars;
}

}  // namespace

class TextLengths::Finder {
 public:
  explicit Finder(Graph graph) : graph_(std::move(graph)), back_(reversed(graph_)) {}

  Result<TextLengths> run(const CharCount& count) {
    find_shortest();
    find_longest();
    // Without a maximum any length from the minimum on will do, and without a minimum the shortest.
    std::vector<bool> gaps(graph_.size(), false);
    if (count.min > 0 && count.max < lengths_.longest_[0]) {
      gaps = with_gaps();
      if (Result<void> found = find_rows(gaps, count.max); !found) return found.error();
    }
    find_ahead(gaps);
    return std::move(lengths_);
  }

 private:
  // Backwards from the ends, a character at a time.
  void find_shortest() {
    std::vector<uint32_t>& shortest = lengths_.shortest_;
    shortest.assign(graph_.size(), kEndless);
    std::vector<State> level;
    for (State state = 0; state < graph_.size(); ++state) {
      if (graph_.accepting[state]) level.push_back(state);
    }
    std::vector<State> next;
    for (uint32_t length = 0; !level.empty(); ++length) {
      for (size_t i = 0; i < level.size(); ++i) {  // grows inside
        const State state = level[i];
        if (shortest[state] != kEndless) continue;
        shortest[state] = length;
        for (const State before : before_of(state)) {
          if (shortest[before] == kEndless)
            (graph_.chars(state) > 0 ? next : level).push_back(before);
        }
      }
      level = std::exchange(next, {});
    }
  }

  std::span<const State> before_of(State state) const {
    return std::span(back_.to).subspan(back_.from[state],
                                       back_.from[state + 1] - back_.from[state]);
  }

  // From the ends without successors backwards; what is never reached leads to a circle.
  void find_longest() {
    std::vector<uint32_t>& longest = lengths_.longest_;
    longest.assign(graph_.size(), kEndless);
    std::vector<size_t> open(graph_.size());
    std::vector<State> done;
    for (State state = 0; state < graph_.size(); ++state) {
      open[state] = graph_.next(state).size();
      if (open[state] == 0) done.push_back(state);
    }
    while (!done.empty()) {
      const State state = done.back();
      done.pop_back();
      longest[state] = 0;
      for (const State to : graph_.next(state))
        longest[state] = std::max(longest[state], longest[to] + graph_.chars(to));
      for (const State before : before_of(state)) {
        if (--open[before] == 0) done.push_back(before);
      }
    }
  }

  // The states from which one can be reached whose lengths are not the interval from the shortest
  // to the longest, if those of its successors are.
  std::vector<bool> with_gaps() const {
    std::vector<bool> gaps(graph_.size(), false);
    std::vector<State> todo;
    std::vector<std::pair<uint32_t, uint32_t>> parts;
    for (State state = 0; state < graph_.size(); ++state) {
      parts.clear();
      if (graph_.accepting[state]) parts.emplace_back(0, 0);
      for (const State to : graph_.next(state)) {
        parts.emplace_back(lengths_.shortest_[to] + graph_.chars(to),
                           longer(lengths_.longest_[to], graph_.chars(to)));
      }
      std::sort(parts.begin(), parts.end());
      uint32_t covered = parts.front().second;
      for (const auto& [first, last] : parts) {
        if (covered != kEndless && first > covered + 1) gaps[state] = true;
        covered = std::max(covered, last);
      }
      if (gaps[state]) todo.push_back(state);
    }
    while (!todo.empty()) {
      const State state = todo.back();
      todo.pop_back();
      for (const State before : before_of(state)) {
        if (!gaps[before]) todo.push_back(before);
        gaps[before] = true;
      }
    }
    return gaps;
  }

  // States with gaps, each after those of the same character that it leads to.
  std::vector<State> in_order(const std::vector<bool>& gaps) const {
    std::vector<size_t> open(graph_.size(), 0);
    std::vector<State> order;
    for (State state = 0; state < graph_.size(); ++state) {
      if (!gaps[state]) continue;
      for (const State to : graph_.next(state))
        open[state] += graph_.chars(to) == 0 && gaps[to] ? 1U : 0U;
      if (open[state] == 0) order.push_back(state);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      if (graph_.chars(order[i]) > 0) continue;
      for (const State before : before_of(order[i])) {
        if (gaps[before] && --open[before] == 0) order.push_back(before);
      }
    }
    return order;
  }

  Result<void> find_rows(const std::vector<bool>& gaps, uint32_t max) {
    const std::vector<State> order = in_order(gaps);
    if (order.empty()) return {};
    uint64_t edges = 0;
    for (const State state : order)
      edges += graph_.next(state).size();
    const uint64_t words = uint64_t{max} / 64 + 1;
    if (edges * (uint64_t{max} + 1) > kWorkMax || order.size() * words * 8 > kRowsBytesMax) {
      return Error{
          ErrorKind::kInvalid,
          fmt::format("this pattern or format has texts of some lengths only, and together "
                      "with minLength lengths up to about {} can be enforced beside it, "
                      "not {}; make maxLength smaller, or leave out minLength",
                      std::min(kWorkMax / edges, kRowsBytesMax * 8 / order.size()), max)};
    }
    lengths_.row_words_ = words;
    lengths_.rows_.assign(order.size() * words, 0);
    lengths_.row_of_.assign(graph_.size(), kNoRow);
    for (size_t i = 0; i < order.size(); ++i)
      lengths_.row_of_[order[i]] = static_cast<uint32_t>(i);
    for (uint32_t length = 0; length <= max; ++length) {
      for (size_t i = 0; i < order.size(); ++i) {
        if (can_end_with(order[i], length))
          lengths_.rows_[i * words + length / 64] |= uint64_t{1} << length % 64;
      }
      if (length == max) break;  // it may be the largest number there is
    }
    return {};
  }

  // The lengths of states that this one depends on are known up to `length`.
  bool can_end_with(State state, uint32_t length) const {
    if (length == 0 && graph_.accepting[state]) return true;
    return std::ranges::any_of(graph_.next(state), [&](State to) {
      const uint32_t chars = graph_.chars(to);
      if (length < chars) return false;
      const uint32_t row = lengths_.row_of_[to];
      const uint32_t left = length - chars;
      if (row == kNoRow) return lengths_.shortest_[to] <= left && left <= lengths_.longest_[to];
      return (lengths_.rows_[row * lengths_.row_words_ + left / 64] >> left % 64 & 1) != 0;
    });
  }

  // Calls `visit` once with each state that can reach `state`, unless it was visited before.
  template <class Visit>
  void visit_before(State state, std::vector<bool>& seen, const Visit& visit) {
    std::vector<State> todo;
    const auto add = [&](State one) {
      if (!seen[one]) todo.push_back(one);
      seen[one] = true;
    };
    add(state);
    while (!todo.empty()) {
      const State at = todo.back();
      todo.pop_back();
      visit(lengths_.ahead_[at]);
      for (const State before : before_of(at))
        add(before);
    }
  }

  void find_ahead(const std::vector<bool>& gaps) {
    const std::vector<uint32_t>& shortest = lengths_.shortest_;
    const std::vector<uint32_t>& longest = lengths_.longest_;
    lengths_.ahead_.resize(graph_.size());
    std::vector<State> order;
    for (State state = 0; state < graph_.size(); ++state) {
      order.push_back(state);
      lengths_.ahead_[state].gaps = gaps[state];
    }
    std::vector<bool> seen(graph_.size(), false);
    std::ranges::sort(order, [&](State a, State b) { return shortest[a] > shortest[b]; });
    for (const State state : order)
      visit_before(state, seen, [&](Ahead& ahead) { ahead.shortest_max = shortest[state]; });
    std::erase_if(order, [&](State state) { return longest[state] == kEndless; });
    seen.assign(graph_.size(), false);
    std::ranges::sort(order, [&](State a, State b) { return longest[a] > longest[b]; });
    for (const State state : order) {
      visit_before(state, seen, [&](Ahead& ahead) {
        ahead.longest_max = longest[state];
        ahead.all_endless = false;
      });
    }
  }

  const Graph graph_;
  const Graph back_;  // only its edges
  TextLengths lengths_;
};

Result<TextLengths> TextLengths::find(const CharDfa& dfa, const CharCount& count) {
  return Finder(graph_of(dfa)).run(count);
}

Result<TextLengths> TextLengths::find(const ByteDfa& dfa, size_t between, const CharCount& count) {
  return Finder(graph_of(dfa, between)).run(count);
}

bool TextLengths::any(State state, uint32_t min, uint32_t max) const {
  if (shortest_[state] > max || longest_[state] < min || min > max) return false;
  if (min <= shortest_[state] || max == kEndless) return true;
  if (row_of_.empty() || row_of_[state] == kNoRow) return true;
  const uint64_t* const row = &rows_[row_of_[state] * row_words_];
  size_t word = min / 64;
  uint64_t bits = row[word] & ~uint64_t{0} << min % 64;
  while (bits == 0 && ++word <= max / 64)
    bits = row[word];
  return bits != 0 && word * 64 + static_cast<size_t>(std::countr_zero(bits)) <= max;
}

size_t TextLengths::memory_bytes() const {
  return sizeof(*this) + shortest_.size() * (2 * sizeof(uint32_t) + sizeof(Ahead)) +
         row_of_.size() * sizeof(uint32_t) + rows_.size() * sizeof(uint64_t);
}

}  // namespace windrow::grammar
