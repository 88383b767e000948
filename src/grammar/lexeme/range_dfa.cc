#include "grammar/lexeme/range_dfa.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "grammar/lexeme/hash_tables.h"

namespace windrow::grammar {

RangeDfa::State RangeDfa::next(State state, char32_t symbol) const {
  const auto of_state = edges_of(state);
  const auto behind =
      std::upper_bound(of_state.begin(), of_state.end(), symbol,
                       [](char32_t value, const Edge& edge) { return value < edge.on.first; });
  if (behind == of_state.begin() || symbol > std::prev(behind)->on.last) return kDead;
  return std::prev(behind)->to;
}

void RangeDfa::begin_state(bool accepts) {
  accepting.push_back(accepts);
  edges_from.push_back(edges_from.back());
}

void RangeDfa::add_edge(CharRange on, State to) {
  const bool first_of_state = edges_from[edges_from.size() - 2] == edges.size();
  if (!first_of_state && edges.back().to == to && edges.back().on.last + 1 == on.first) {
    edges.back().on.last = on.last;
    return;
  }
  edges.push_back({on, to});
  ++edges_from.back();
}

namespace {

constexpr size_t kStatesBetweenQuestions = 1 << 13;

using DfaState = RangeDfa::State;
using DfaEdge = RangeDfa::Edge;

// The predecessors of states: of state i, sources[from[i]] up to sources[from[i + 1]].
struct Reverse {
  std::vector<uint32_t> from;
  std::vector<DfaState> sources;

  explicit Reverse(const RangeDfa& dfa)
      : from(dfa.states_count() + 1, 0), sources(dfa.edges.size()) {
    for (const DfaEdge& edge : dfa.edges)
      ++from[edge.to];
    uint32_t sum = 0;
    for (uint32_t& start : from)
      start = sum += start;  // where it ends; filling it backwards makes it the start
    for (DfaState state = 0; state < dfa.states_count(); ++state) {
      for (const DfaEdge& edge : dfa.edges_of(state))
        sources[--from[edge.to]] = state;
    }
  }

  std::span<const DfaState> of(DfaState state) const {
    return std::span(sources).subspan(from[state], from[state + 1] - from[state]);
  }
};

// The states from which an accepting one can be reached.
std::vector<bool> useful_states(const RangeDfa& dfa, const Reverse& reverse) {
  std::vector<bool> useful = dfa.accepting;
  std::vector<DfaState> open;
  for (DfaState state = 0; state < dfa.states_count(); ++state) {
    if (useful[state]) open.push_back(state);
  }
  while (!open.empty()) {
    const DfaState state = open.back();
    open.pop_back();
    for (const DfaState source : reverse.of(state)) {
      if (useful[source]) continue;
      useful[source] = true;
      open.push_back(source);
    }
  }
  return useful;
}

// The states in blocks, made smaller until all states of a block are alike. A block is a part of
// `order_`; those of its states that must be looked at again lie in front.
class Partition {
 public:
  Partition(const RangeDfa& dfa, const Reverse& reverse, const std::vector<bool>& useful)
      : dfa_(dfa), reverse_(reverse), block_of_(dfa.states_count(), RangeDfa::kDead) {
    place_of_.resize(dfa.states_count());
    for (const bool accepts : {false, true}) {
      const auto begin = static_cast<uint32_t>(order_.size());
      for (DfaState state = 0; state < dfa.states_count(); ++state) {
        if (useful[state] && dfa.accepting[state] == accepts) place(state);
      }
      if (order_.size() > begin) add_block(begin, static_cast<uint32_t>(order_.size()), true);
    }
  }

  Result<void> refine(const GiveUp& give_up) {
    size_t looked_at = 0;
    while (!open_.empty()) {
      const uint32_t block = open_.back();
      open_.pop_back();
      looked_at += 1 + blocks_[block].marked;
      split(block);
      if (looked_at < kStatesBetweenQuestions) continue;
      if (Result<void> go_on = ask(give_up); !go_on) return go_on;
      looked_at = 0;
    }
    return {};
  }

  // kDead for a state that is not useful.
  uint32_t block_of(DfaState state) const { return block_of_[state]; }
  size_t blocks_count() const { return blocks_.size(); }

 private:
  struct Block {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t marked = 0;  // so many at its beginning are to be looked at
  };

  void place(DfaState state) {
    place_of_[state] = static_cast<uint32_t>(order_.size());
    order_.push_back(state);
  }

  void add_block(uint32_t begin, uint32_t end, bool marked) {
    const auto block = static_cast<uint32_t>(blocks_.size());
    blocks_.push_back({begin, end, marked ? end - begin : 0});
    for (uint32_t i = begin; i < end; ++i)
      block_of_[order_[i]] = block;
    if (marked) open_.push_back(block);
  }

  void mark(DfaState state) {
    const uint32_t number = block_of_[state];
    if (number == RangeDfa::kDead) return;
    Block& block = blocks_[number];
    const uint32_t place = place_of_[state];
    const uint32_t target = block.begin + block.marked;
    if (place < target) return;
    std::swap(order_[place], order_[target]);
    place_of_[order_[place]] = place;
    place_of_[order_[target]] = target;
    if (block.marked++ == 0) open_.push_back(number);
  }

  // The edges of a state as seen through the partition.
  void write_signature(DfaState state) {
    signature_.clear();
    for (const DfaEdge& edge : dfa_.edges_of(state)) {
      const uint32_t to = block_of_[edge.to];
      if (to == RangeDfa::kDead) continue;
      const size_t size = signature_.size();
      if (size > 0 && signature_[size - 1] == to && signature_[size - 2] + 1 == edge.on.first) {
        signature_[size - 2] = edge.on.last;
      } else {
        signature_.insert(signature_.end(), {edge.on.first, edge.on.last, to});
      }
    }
  }

  void split(uint32_t number) {
    const Block block = blocks_[number];
    blocks_[number].marked = 0;
    if (block.end - block.begin == 1) return;
    // The marked ones by their edges; the others are all alike, and unlike these.
    if (block.marked > 1) {
      group_marked(block);
    } else {
      parts_.assign({{block.begin, block.begin + 1}});
    }
    if (block.begin + block.marked < block.end)
      parts_.push_back({block.begin + block.marked, block.end});
    if (parts_.size() == 1) return;
    std::swap(*std::max_element(parts_.begin(), parts_.end(),
                                [](const Part& a, const Part& b) { return a.size() < b.size(); }),
              parts_.front());
    blocks_[number] = {parts_.front().begin, parts_.front().end, 0};
    for (size_t i = 1; i < parts_.size(); ++i)
      add_block(parts_[i].begin, parts_[i].end, false);
    for (size_t i = 1; i < parts_.size(); ++i)
      mark_sources(parts_[i].begin, parts_[i].end);
  }

  void mark_sources(uint32_t begin, uint32_t end) {
    moved_.assign(order_.begin() + begin, order_.begin() + end);  // marking changes the order
    for (const DfaState state : moved_) {
      for (const DfaState source : reverse_.of(state))
        mark(source);
    }
  }

  // Sorts the marked states of a block by their edges into `parts_`.
  void group_marked(const Block& block) {
    Interner signatures;
    keyed_.clear();
    for (uint32_t i = block.begin; i < block.begin + block.marked; ++i) {
      write_signature(order_[i]);
      keyed_.emplace_back(signatures.intern(signature_).first, order_[i]);
    }
    if (signatures.size() > 1) std::sort(keyed_.begin(), keyed_.end());
    parts_.clear();
    for (uint32_t i = 0; i < keyed_.size(); ++i) {
      const uint32_t place = block.begin + i;
      order_[place] = keyed_[i].second;
      place_of_[order_[place]] = place;
      if (i == 0 || keyed_[i].first != keyed_[i - 1].first) parts_.push_back({place, place});
      parts_.back().end = place + 1;
    }
  }

  struct Part {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t size() const { return end - begin; }
  };

  const RangeDfa& dfa_;
  const Reverse& reverse_;
  std::vector<uint32_t> block_of_;
  std::vector<DfaState> order_;
  std::vector<uint32_t> place_of_;  // by state: its index in order_
  std::vector<Block> blocks_;
  std::vector<uint32_t> open_;  // blocks with marked states
  std::vector<Part> parts_;
  std::vector<uint32_t> signature_;
  std::vector<std::pair<uint32_t, DfaState>> keyed_;
  std::vector<DfaState> moved_;
};

}  // namespace

RangeDfa minimal(const RangeDfa& dfa) {
  return minimal(dfa, {}).value();
}

Result<RangeDfa> minimal(const RangeDfa& dfa, const GiveUp& give_up) {
  if (dfa.states_count() == 0) return RangeDfa();
  const Reverse reverse(dfa);
  const std::vector<bool> useful = useful_states(dfa, reverse);
  if (!useful[0]) return RangeDfa();
  Partition partition(dfa, reverse, useful);
  if (Result<void> done = partition.refine(give_up); !done) return done.error();

  // Blocks as a breadth-first walk meets them, each by the state it was met with.
  RangeDfa small;
  std::vector<uint32_t> number_of(partition.blocks_count(), RangeDfa::kDead);
  std::vector<DfaState> met{0};
  number_of[partition.block_of(0)] = 0;
  for (uint32_t i = 0; i < met.size(); ++i) {
    small.begin_state(dfa.accepting[met[i]]);
    for (const DfaEdge& edge : dfa.edges_of(met[i])) {
      const uint32_t block = partition.block_of(edge.to);
      if (block == RangeDfa::kDead) continue;
      if (number_of[block] == RangeDfa::kDead) {
        number_of[block] = static_cast<uint32_t>(met.size());
        met.push_back(edge.to);
      }
      small.add_edge(edge.on, number_of[block]);
    }
  }
  return small;
}

namespace {

// Pairs of states of two automata; kDead where one of them has no way on.
class Product {
 public:
  Product(const RangeDfa& a, const RangeDfa& b, Combination what) : a_(a), b_(b), what_(what) {}

  Result<RangeDfa> run(size_t states_max, const GiveUp& give_up) {
    const DfaState a = a_.states_count() == 0 ? RangeDfa::kDead : 0;
    const DfaState b = b_.states_count() == 0 ? RangeDfa::kDead : 0;
    if (is_wanted(a, b)) number_of(a, b);
    for (uint32_t i = 0; i < pairs_.size(); ++i) {
      if (pairs_.size() > states_max) return too_many_states(states_max);
      if (i % kStatesBetweenQuestions == kStatesBetweenQuestions - 1) {
        if (Result<void> go_on = ask(give_up); !go_on) return go_on.error();
      }
      const auto pair = pairs_.get(i);
      expand(pair[0], pair[1]);
    }
    return std::move(result_);
  }

 private:
  bool is_wanted(DfaState a, DfaState b) const {
    switch (what_) {
      case Combination::kBoth:
        return a != RangeDfa::kDead && b != RangeDfa::kDead;
      case Combination::kEither:
        return a != RangeDfa::kDead || b != RangeDfa::kDead;
      case Combination::kFirstOnly:
        break;
    }
    return a != RangeDfa::kDead;
  }

  bool accepts(DfaState a, DfaState b) const {
    const bool in_a = a != RangeDfa::kDead && a_.accepting[a];
    const bool in_b = b != RangeDfa::kDead && b_.accepting[b];
    switch (what_) {
      case Combination::kBoth:
        return in_a && in_b;
      case Combination::kEither:
        return in_a || in_b;
      case Combination::kFirstOnly:
        break;
    }
    return in_a && !in_b;
  }

  uint32_t number_of(DfaState a, DfaState b) { return pairs_.intern(std::array{a, b}).first; }

  void expand(DfaState a, DfaState b) {
    result_.begin_state(accepts(a, b));
    const auto of_a = a == RangeDfa::kDead ? std::span<const DfaEdge>() : a_.edges_of(a);
    const auto of_b = b == RangeDfa::kDead ? std::span<const DfaEdge>() : b_.edges_of(b);
    size_t i = 0;
    size_t j = 0;
    char32_t at = 0;  // everything before is done
    while (i < of_a.size() || j < of_b.size()) {
      // From `at` to `last` both stay as they are.
      const CharRange none{UINT32_MAX, UINT32_MAX};
      const CharRange on_a = i < of_a.size() ? of_a[i].on : none;
      const CharRange on_b = j < of_b.size() ? of_b[j].on : none;
      at = std::max(at, std::min(on_a.first, on_b.first));
      const bool in_a = on_a.first <= at;
      const bool in_b = on_b.first <= at;
      const char32_t last =
          std::min(in_a ? on_a.last : on_a.first - 1, in_b ? on_b.last : on_b.first - 1);
      const DfaState to_a = in_a ? of_a[i].to : RangeDfa::kDead;
      const DfaState to_b = in_b ? of_b[j].to : RangeDfa::kDead;
      if (is_wanted(to_a, to_b)) result_.add_edge({at, last}, number_of(to_a, to_b));
      at = last + 1;
      if (in_a && on_a.last == last) ++i;
      if (in_b && on_b.last == last) ++j;
    }
  }

  const RangeDfa& a_;
  const RangeDfa& b_;
  Combination what_;
  Interner pairs_;
  RangeDfa result_;
};

}  // namespace

Result<RangeDfa> combine(const RangeDfa& a, const RangeDfa& b, Combination what, size_t states_max,
                         const GiveUp& give_up) {
  return Product(a, b, what).run(states_max, give_up);
}

namespace {

// The states of an automaton and one behind all of its texts, in the order in which they are met.
class Complement {
 public:
  explicit Complement(const RangeDfa& dfa) : dfa_(dfa), number_of_(dfa.states_count() + 1, kNew) {}

  RangeDfa run() {
    number_of(dfa_.states_count() > 0 ? 0 : outside());
    for (size_t i = 0; i < met_.size(); ++i)
      expand(met_[i]);
    return std::move(result_);
  }

 private:
  static constexpr uint32_t kNew = UINT32_MAX;

  DfaState outside() const { return static_cast<DfaState>(dfa_.states_count()); }

  void expand(DfaState state) {
    const bool inside = state != outside();
    result_.begin_state(!inside || !dfa_.accepting[state]);
    char32_t at = 0;  // everything before is done
    if (inside) {
      for (const DfaEdge& edge : dfa_.edges_of(state)) {
        if (at < edge.on.first) leave({at, edge.on.first - 1});
        result_.add_edge(edge.on, number_of(edge.to));
        at = edge.on.last + 1;
      }
    }
    leave({at, UINT32_MAX});
  }

  void leave(CharRange on) {
    static const CharSet all = CharSet::all();
    for (const CharRange& range : all.ranges()) {
      const CharRange part{std::max(on.first, range.first), std::min(on.last, range.last)};
      if (part.first <= part.last) result_.add_edge(part, number_of(outside()));
    }
  }

  uint32_t number_of(DfaState state) {
    uint32_t& number = number_of_[state];
    if (number == kNew) {
      number = static_cast<uint32_t>(met_.size());
      met_.push_back(state);
    }
    return number;
  }

  const RangeDfa& dfa_;
  std::vector<uint32_t> number_of_;
  std::vector<DfaState> met_;
  RangeDfa result_;
};

// The state has all texts.
bool is_universal(const RangeDfa& dfa, DfaState state) {
  static const CharSet all = CharSet::all();
  return dfa.accepting[state] &&
         std::ranges::equal(dfa.edges_of(state), all.ranges(),
                            [&](const DfaEdge& edge, const CharRange& range) {
                              return edge.to == state && edge.on == range;
                            });
}

}  // namespace

std::optional<RangeDfa> complement(const RangeDfa& dfa) {
  for (DfaState state = 0; state < dfa.states_count(); ++state) {
    if (is_universal(dfa, state)) return std::nullopt;
  }
  return Complement(dfa).run();
}

Error too_many_states(size_t states_max) {
  return {ErrorKind::kInvalid, fmt::format("this needs more than {} states: make lengths, numbers "
                                           "of repetitions or lists of texts smaller",
                                           states_max)};
}

}  // namespace windrow::grammar
