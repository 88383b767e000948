#include "grammar/closure.h"

#include <algorithm>
#include <utility>

namespace windrow::grammar {
namespace {

using Kind = Grammar::Node::Kind;

constexpr uint32_t kLeave = UINT32_MAX;  // instead of a node, in what was seen

// Nodes, stacks and frames that one step may look at, besides twice the nodes there are. Grammars
// that can be read in thousands of ways need more than there is.
constexpr size_t kStepWorkMax = 100'000;

uint32_t one_less(uint32_t times) {
  return times == 0 || times == Grammar::kUnbounded ? times : times - 1;
}

// Depth first, without recursion: grammars may be deep. No node opens itself, as none begins with
// itself.
std::vector<uint32_t> ranks_of(const Grammar& grammar) {
  const std::vector<Grammar::Node>& nodes = grammar.nodes;
  const auto opened_by = [&](const Grammar::Node& node) {
    if (node.kind == Kind::kTexts || node.kind == Kind::kLexeme) return uint32_t{0};
    if (node.kind == Kind::kMembers) return grammar.members[node.members].has_other ? 1U : 0U;
    if (node.kind == Kind::kRepeat || node.kind == Kind::kContainer) return uint32_t{1};
    if (node.kind == Kind::kChoice) return node.count;
    uint32_t count = 0;
    while (count < node.count) {
      if (!nodes[grammar.children[node.first + count++]].nullable) break;
    }
    return count;
  };
  struct Visit {
    uint32_t node;
    uint32_t next;
  };
  std::vector<bool> seen(nodes.size());
  auto rank = static_cast<uint32_t>(nodes.size());
  std::vector<uint32_t> ranks(nodes.size(), 0);
  for (uint32_t start = 0; start < nodes.size(); ++start) {
    if (seen[start]) continue;
    seen[start] = true;
    std::vector<Visit> way = {{start, 0}};
    while (!way.empty()) {
      auto& [number, next] = way.back();
      const Grammar::Node& node = nodes[number];
      if (next == opened_by(node)) {
        ranks[number] = --rank;
        way.pop_back();
        continue;
      }
      const uint32_t child = grammar.children[node.first + next++];
      if (seen[child]) continue;
      seen[child] = true;
      way.push_back({child, 0});
    }
  }
  return ranks;
}

}  // namespace

Closure::Closure(const Grammar& grammar, const Automata& automata, Stacks& stacks)
    : grammar_(grammar),
      automata_(automata),
      stacks_(stacks),
      ranks_(ranks_of(grammar)),
      work_max_(kStepWorkMax + 2 * grammar.nodes.size()) {}

void Closure::begin() {
  seen_.clear();
  tasks_.clear();
  leaving_.clear();
  work_ = 0;
  positions_.clear();
  can_end_ = false;
}

void Closure::arrive(const Position& position, bool may_go_on, bool may_end) {
  if (position.automaton == Automata::kTexts && position.state >= grammar_.names_from)
    return arrive_in_name(position);
  if (may_go_on && automata_.goes_on(position.automaton, position.state))
    positions_.push_back(position);
  if (may_end && automata_.accepts(position.automaton, position.state)) leave(position.stack);
}

void Closure::open(uint32_t node, StackId stack) {
  if (!seen_.add(uint64_t{node} << 32 | stack)) return;
  ++work_;
  tasks_.push_back({ranks_[node], node, stack});
  std::push_heap(tasks_.begin(), tasks_.end(), is_later);
}

void Closure::leave(StackId stack) {
  if (seen_.add(uint64_t{kLeave} << 32 | stack)) leaving_.push_back(stack);
}

// What is over comes first: nothing that is opened ends at once, so nothing more is over then.
void Closure::run() {
  while (!leaving_.empty() && !too_complex()) {
    const StackId stack = leaving_.back();
    leaving_.pop_back();
    work_ += stacks_.frames_count(stack);
    for (size_t i = 0; i < stacks_.frames_count(stack); ++i)
      resume(stacks_.frame(stack, i));
  }
  while (!tasks_.empty() && !too_complex())
    expand_first();
}

void Closure::expand_first() {
  const uint32_t node = tasks_.front().node;
  std::vector<StackId> stacks;
  while (!tasks_.empty() && tasks_.front().node == node) {
    stacks.push_back(tasks_.front().stack);
    std::pop_heap(tasks_.begin(), tasks_.end(), is_later);
    tasks_.pop_back();
  }
  if (stacks.size() == 1) return expand(node, stacks[0]);
  expand(node, stacks_.unite(std::move(stacks), work_, work_max_));
}

// Finds the texts of a node that are not empty. If it may be empty, what comes after it was opened
// with it.
void Closure::expand(uint32_t number, StackId stack) {
  const Grammar::Node& node = grammar_.nodes[number];
  const uint32_t* const children = grammar_.children.data() + node.first;
  switch (node.kind) {
    case Kind::kTexts:
      if (grammar_.texts.goes_on(node.first))
        positions_.push_back({Automata::kTexts, node.first, stack});
      return;
    case Kind::kLexeme:
      if (automata_.goes_on(node.first + 1, 0)) positions_.push_back({node.first + 1, 0, stack});
      return;
    case Kind::kSequence:
      for (uint32_t i = 0; i < node.count; ++i) {
        open(children[i], rest_of_sequence(number, i + 1, stack));
        if (!grammar_.nodes[children[i]].nullable) return;
      }
      return;
    case Kind::kChoice:
      for (uint32_t i = 0; i < node.count; ++i)
        open(children[i], stack);
      return;
    case Kind::kRepeat:
      open(children[0], rest_of_repeat(number, one_less(node.min), one_less(node.max), stack));
      return;
    case Kind::kMembers:
      return begin_members(number, stack);
    case Kind::kContainer:
      open(children[0], stacks_.push({number, 0, 0, stack}));
      return;
  }
}

void Closure::resume(const Frame& frame) {
  if (frame.node == Stacks::kEndNode) {
    can_end_ = true;
    return;
  }
  const Grammar::Node& node = grammar_.nodes[frame.node];
  if (node.kind == Kind::kMembers) return resume_members(frame);
  const uint32_t* const children = grammar_.children.data() + node.first;
  if (node.kind == Kind::kContainer) return leave(frame.below);
  if (node.kind == Kind::kRepeat) {
    if (frame.second > 0) {
      open(children[0],
           rest_of_repeat(frame.node, one_less(frame.first), one_less(frame.second), frame.below));
    }
    if (frame.first == 0) leave(frame.below);
    return;
  }
  for (uint32_t i = frame.first; i < node.count; ++i) {
    open(children[i], rest_of_sequence(frame.node, i + 1, frame.below));
    if (!grammar_.nodes[children[i]].nullable) return;
  }
  leave(frame.below);
}

// Nothing is pushed for what is over, so recursion at an end needs no stack.
StackId Closure::rest_of_sequence(uint32_t sequence, uint32_t next_child, StackId below) {
  if (next_child == grammar_.nodes[sequence].count) return below;
  return stacks_.push({sequence, next_child, 0, below});
}

StackId Closure::rest_of_repeat(uint32_t repeat, uint32_t needed, uint32_t allowed, StackId below) {
  if (allowed == 0) return below;
  return stacks_.push({repeat, needed, allowed, below});
}

void Closure::unite_positions() {
  std::sort(positions_.begin(), positions_.end());
  size_t kept = 0;
  for (size_t at = 0; at < positions_.size();) {
    size_t end = at + 1;
    while (end < positions_.size() && positions_[end].automaton == positions_[at].automaton &&
           positions_[end].state == positions_[at].state)
      ++end;
    Position position = positions_[at];
    if (end - at > 1) {
      std::vector<StackId> stacks;
      for (; at < end; ++at)
        stacks.push_back(positions_[at].stack);
      position.stack = stacks_.unite(std::move(stacks), work_, work_max_);
    }
    at = end;
    positions_[kept++] = position;
  }
  positions_.resize(kept);
}

}  // namespace windrow::grammar
