#include "grammar/lexeme/range_nfa.h"

#include <algorithm>
#include <array>

#include "grammar/lexeme/hash_tables.h"

namespace windrow::grammar {

void RangeNfa::add_edge(State from, const CharSet& on, State to) {
  for (const CharRange& range : on.ranges())
    add_edge(from, range, to);
}

// Sets of states, each met once. In a set are only the states that tell something apart: those that
// have edges, those that go on at the end of the text, and the accepting one.
class SubsetConstruction {
 public:
  SubsetConstruction(const RangeNfa& nfa, const RangeNfa::Ends& ends)
      : ends_(ends),
        has_places_(nfa.has_places_),
        edges_(by_source(nfa.edges_, nfa.states_count_, edges_from_)),
        free_(by_source(nfa.free_, nfa.states_count_, free_from_)),
        accepts_at_end_(accepting(nfa, false)),
        accepts_when_empty_(accepting(nfa, true)),
        met_in_(nfa.states_count_, 0) {}

  Result<RangeDfa> run(size_t states_max, const GiveUp& give_up) {
    close(std::array{ends_.first}, true);
    // At the start more is free, so this set is none of the others, even if it has the same states.
    if (has_places_) closure_.push_back(kStartMark);
    sets_.intern(closure_);
    const size_t numbers_max = states_max * kSetSizeMean;
    for (uint32_t i = 0; i < sets_.size(); ++i) {
      if (sets_.size() > states_max || sets_.numbers_count() > numbers_max)
        return too_many_states(states_max);
      looked_at_ += 1 + sets_.get(i).size();
      if (looked_at_ > kLookedAtBetweenQuestions) {
        looked_at_ = 0;
        if (Result<void> go_on = ask(give_up); !go_on) return go_on.error();
      }
      expand(i);
    }
    return std::move(result_);
  }

 private:
  using State = RangeNfa::State;

  // Sets larger than this on average are given up: time and room would go out of hand.
  static constexpr size_t kSetSizeMean = 64;

  static constexpr uint32_t kStartMark = UINT32_MAX;
  static constexpr size_t kLookedAtBetweenQuestions = 1 << 12;

  struct Reach {
    CharRange on;
    State to = 0;
  };

  template <class Edge>
  static std::vector<Edge> by_source(const std::vector<Edge>& edges, size_t states_count,
                                     std::vector<uint32_t>& from) {
    from.assign(states_count + 1, 0);
    for (const Edge& edge : edges)
      ++from[edge.from + 1];
    for (size_t i = 1; i < from.size(); ++i)
      from[i] += from[i - 1];
    std::vector<uint32_t> next = from;
    std::vector<Edge> sorted(edges.size());
    for (const Edge& edge : edges)
      sorted[next[edge.from]++] = edge;
    return sorted;
  }

  // The states from which the accepting one is reached at the end of a text.
  std::vector<bool> accepting(const RangeNfa& nfa, bool text_is_empty) const {
    std::vector<RangeNfa::FreeEdge> backwards = nfa.free_;
    for (RangeNfa::FreeEdge& edge : backwards)
      std::swap(edge.from, edge.to);
    std::vector<uint32_t> from;
    backwards = by_source(backwards, nfa.states_count_, from);
    std::vector<bool> accepts(nfa.states_count_, false);
    std::vector<State> open{ends_.accepting};
    accepts[ends_.accepting] = true;
    while (!open.empty()) {
      const State state = open.back();
      open.pop_back();
      for (uint32_t i = from[state]; i < from[state + 1]; ++i) {
        const RangeNfa::FreeEdge& edge = backwards[i];
        if (edge.place == RangeNfa::Place::kAtStart && !text_is_empty) continue;
        if (accepts[edge.to]) continue;
        accepts[edge.to] = true;
        open.push_back(edge.to);
      }
    }
    return accepts;
  }

  bool is_telling(State state) const {
    if (state == ends_.accepting || edges_from_[state] < edges_from_[state + 1]) return true;
    for (uint32_t i = free_from_[state]; i < free_from_[state + 1]; ++i) {
      if (free_[i].place == RangeNfa::Place::kAtEnd) return true;
    }
    return false;
  }

  // All that is reached freely from these, sorted, into `closure_`.
  void close(std::span<const State> states, bool at_start) {
    ++round_;
    closure_.clear();
    open_.clear();
    for (const State state : states)
      meet(state);
    while (!open_.empty()) {
      const State state = open_.back();
      open_.pop_back();
      if (ends_.universal == state) {
        closure_.assign({state});
        return;
      }
      if (is_telling(state)) closure_.push_back(state);
      for (uint32_t i = free_from_[state]; i < free_from_[state + 1]; ++i) {
        const auto place = free_[i].place;
        const bool may =
            place == RangeNfa::Place::kAnywhere || (place == RangeNfa::Place::kAtStart && at_start);
        if (may) meet(free_[i].to);
      }
    }
    std::sort(closure_.begin(), closure_.end());
  }

  void meet(State state) {
    if (met_in_[state] == round_) return;
    met_in_[state] = round_;
    open_.push_back(state);
  }

  void expand(uint32_t set) {
    reaches_.clear();
    bool accepts = false;
    const std::vector<bool>& accepting = set == 0 ? accepts_when_empty_ : accepts_at_end_;
    for (const State state : sets_.get(set)) {
      if (state == kStartMark) continue;
      accepts = accepts || accepting[state] || state == ends_.universal;
      for (uint32_t i = edges_from_[state]; i < edges_from_[state + 1]; ++i)
        reaches_.push_back({edges_[i].on, edges_[i].to});
    }
    result_.begin_state(accepts);
    std::sort(reaches_.begin(), reaches_.end(),
              [](const Reach& a, const Reach& b) { return a.on.first < b.on.first; });
    // From `at` on, `active_` are the edges that go on there; the next ones wait in `reaches_`.
    active_.clear();
    size_t waiting = 0;
    char32_t at = 0;
    while (waiting < reaches_.size() || !active_.empty()) {
      if (active_.empty()) at = reaches_[waiting].on.first;
      while (waiting < reaches_.size() && reaches_[waiting].on.first == at)
        active_.push_back(reaches_[waiting++]);
      char32_t last = waiting < reaches_.size() ? reaches_[waiting].on.first - 1 : UINT32_MAX;
      targets_.clear();
      for (const Reach& reach : active_) {
        last = std::min(last, reach.on.last);
        targets_.push_back(reach.to);
      }
      close(targets_, false);
      result_.add_edge({at, last}, sets_.intern(closure_).first);
      std::erase_if(active_, [last](const Reach& reach) { return reach.on.last == last; });
      at = last + 1;
    }
  }

  RangeNfa::Ends ends_;
  bool has_places_;
  std::vector<uint32_t> edges_from_;
  std::vector<RangeNfa::Edge> edges_;
  std::vector<uint32_t> free_from_;
  std::vector<RangeNfa::FreeEdge> free_;
  std::vector<bool> accepts_at_end_;
  std::vector<bool> accepts_when_empty_;
  std::vector<uint64_t> met_in_;  // the round in which a state was met last
  uint64_t round_ = 0;
  std::vector<State> closure_;
  std::vector<State> open_;
  std::vector<State> targets_;
  std::vector<Reach> reaches_;
  std::vector<Reach> active_;
  Interner sets_;
  size_t looked_at_ = 0;  // states of sets, since the last question
  RangeDfa result_;
};

Result<RangeDfa> RangeNfa::determinise(const Ends& ends, size_t states_max,
                                       const GiveUp& give_up) const {
  return SubsetConstruction(*this, ends).run(states_max, give_up);
}

}  // namespace windrow::grammar
