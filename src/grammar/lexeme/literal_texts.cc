#include "grammar/lexeme/literal_texts.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "grammar/lexeme/hash_tables.h"

namespace windrow::grammar {
namespace {

constexpr size_t kTextStepsBetweenQuestions = 1 << 14;

class SortedTexts {
 public:
  SortedTexts(size_t states_max, const GiveUp& give_up)
      : states_max_(states_max), give_up_(give_up) {}

  // Texts come in ascending order, none twice.
  Result<void> add(std::u32string text) {
    const auto differ = std::ranges::mismatch(last_, text);
    const auto common = static_cast<size_t>(differ.in1 - last_.begin());
    if (Result<void> done = finish(common); !done) return done;
    if (text.size() >= states_max_) return too_many_states(states_max_);
    path_.resize(text.size() + 1);
    path_.back().accepts = true;
    last_ = std::move(text);
    return {};
  }

  Result<RangeDfa> take() {
    if (Result<void> done = finish(0); !done) return done.error();
    if (!path_[0].accepts && path_[0].edges.empty()) return RangeDfa();
    const uint32_t first = number_of(path_[0]);
    if (states_.size() > states_max_) return too_many_states(states_max_);
    return from_first(first);
  }

 private:
  // A state whose texts may still become more.
  struct Open {
    bool accepts = false;
    std::vector<uint32_t> edges;  // triples: first and last character, the state
  };

  // Gives the states behind the first `depth` characters of the last text their numbers.
  Result<void> finish(size_t depth) {
    while (path_.size() > depth + 1) {
      if (++steps_ % kTextStepsBetweenQuestions == 0) {
        if (Result<void> go_on = ask(give_up_); !go_on) return go_on;
      }
      const uint32_t to = number_of(path_.back());
      if (states_.size() > states_max_) return too_many_states(states_max_);
      path_.pop_back();
      add_edge(path_.back().edges, last_[path_.size() - 1], to);
    }
    return {};
  }

  static void add_edge(std::vector<uint32_t>& edges, char32_t on, uint32_t to) {
    const size_t size = edges.size();
    if (size > 0 && edges[size - 1] == to && edges[size - 2] + 1 == on) {
      edges[size - 2] = on;
    } else {
      edges.insert(edges.end(), {on, on, to});
    }
  }

  uint32_t number_of(const Open& state) {
    key_.assign(1, state.accepts ? 1 : 0);
    key_.insert(key_.end(), state.edges.begin(), state.edges.end());
    return states_.intern(key_).first;
  }

  // Numbered breadth first, as every minimal automaton.
  RangeDfa from_first(uint32_t first) const {
    RangeDfa dfa;
    std::vector<uint32_t> number_of(states_.size(), RangeDfa::kDead);
    std::vector<uint32_t> met{first};
    number_of[first] = 0;
    for (size_t i = 0; i < met.size(); ++i) {
      const auto state = states_.get(met[i]);
      dfa.begin_state(state[0] == 1);
      for (size_t edge = 1; edge < state.size(); edge += 3) {
        uint32_t& to = number_of[state[edge + 2]];
        if (to == RangeDfa::kDead) {
          to = static_cast<uint32_t>(met.size());
          met.push_back(state[edge + 2]);
        }
        dfa.add_edge({state[edge], state[edge + 1]}, to);
      }
    }
    return dfa;
  }

  size_t states_max_;
  const GiveUp& give_up_;
  Interner states_;            // those that nothing changes any more
  std::vector<Open> path_{1};  // of the last text, from the first state on
  std::u32string last_;
  std::vector<uint32_t> key_;
  size_t steps_ = 0;
};

}  // namespace

namespace {

constexpr size_t kSortedAtOnce = 1 << 14;

// In UTF-8, the order of the bytes is that of the characters. kUnavailable: `give_up` returned
// true.
Result<void> sort_texts(std::vector<std::string_view>& texts, const GiveUp& give_up) {
  const auto at = [&](size_t index) {
    return texts.begin() + static_cast<std::ptrdiff_t>(std::min(index, texts.size()));
  };
  for (size_t from = 0; from < texts.size(); from += kSortedAtOnce) {
    if (Result<void> go_on = ask(give_up); !go_on) return go_on;
    std::sort(at(from), at(from + kSortedAtOnce));
  }
  std::vector<std::string_view> merged(texts.size());
  for (size_t width = kSortedAtOnce; width < texts.size(); width *= 2) {
    for (size_t from = 0; from < texts.size(); from += 2 * width) {
      if (Result<void> go_on = ask(give_up); !go_on) return go_on;
      std::merge(at(from), at(from + width), at(from + width), at(from + 2 * width),
                 merged.begin() + static_cast<std::ptrdiff_t>(from));
    }
    texts.swap(merged);
  }
  return {};
}

}  // namespace

Result<RangeDfa> literals_dfa(std::span<const std::string_view> texts, size_t states_max,
                              const GiveUp& give_up) {
  std::vector<std::string_view> sorted(texts.begin(), texts.end());
  if (Result<void> done = sort_texts(sorted, give_up); !done) return done.error();
  const auto twice = std::ranges::unique(sorted);
  sorted.erase(twice.begin(), twice.end());
  SortedTexts all(states_max, give_up);
  for (const std::string_view text : sorted) {
    auto characters = code_points(text);
    if (!characters) continue;
    if (Result<void> added = all.add(*std::move(characters)); !added) return added.error();
  }
  return all.take();
}

}  // namespace windrow::grammar
