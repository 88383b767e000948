#include "schema/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace windrow::schema {
namespace {

constexpr int kChainMax = 200;
// Names that count for a node, all nodes together.
constexpr size_t kClosingMax = 1'000'000;

using Nodes = std::vector<const Node*>;

// The nodes that hold wherever `node` does.
Nodes conjuncts(const Node& node) {
  Nodes result = node.all_of;
  if (node.reference != nullptr) result.push_back(node.reference);
  return result;
}

// All others about the same value, by the choice they belong to.
std::vector<std::pair<const void*, Nodes>> choices(const Node& node) {
  std::vector<std::pair<const void*, Nodes>> result;
  if (!node.any_of.empty()) result.emplace_back(&node.any_of, node.any_of);
  if (!node.one_of.empty()) result.emplace_back(&node.one_of, node.one_of);
  Nodes branches;
  if (node.condition != nullptr && node.consequence != nullptr)
    branches.push_back(node.consequence);
  if (node.condition != nullptr && node.alternative != nullptr)
    branches.push_back(node.alternative);
  if (!branches.empty()) result.emplace_back(node.condition, std::move(branches));
  if (node.object != nullptr) {
    for (const Dependency& one : node.object->dependencies) {
      if (one.schema != nullptr) result.emplace_back(one.schema, Nodes{one.schema});
    }
  }
  return result;
}

Nodes in_place(const Node& node) {
  Nodes result = conjuncts(node);
  for (const auto& [identity, branches] : choices(node))
    result.insert(result.end(), branches.begin(), branches.end());
  if (node.negated != nullptr) result.push_back(node.negated);
  if (node.condition != nullptr) result.push_back(node.condition);
  return result;
}

// Depth first without recursion: how long the longest chain from each node is.
std::optional<Entanglement> find_circle(const Program& program) {
  struct Visit {
    const Node* node;
    Nodes next;
    int longest = 0;
  };
  constexpr int kOpen = -1;
  boost::unordered_flat_map<const Node*, int> chain;
  std::vector<Visit> stack;
  for (const Node& start : program.nodes) {
    if (chain.contains(&start)) continue;
    chain.emplace(&start, kOpen);
    stack.push_back({&start, in_place(start)});
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next.empty()) {
        const int length = top.longest + 1;
        if (length > kChainMax) {
          return Entanglement{top.node->at,
                              fmt::format("is a chain of more than {} schemas", kChainMax)};
        }
        chain[top.node] = length;
        stack.pop_back();
        if (!stack.empty()) stack.back().longest = std::max(stack.back().longest, length);
        continue;
      }
      const Node* next = top.next.back();
      top.next.pop_back();
      const auto [entry, is_new] = chain.emplace(next, kOpen);
      if (is_new) {
        stack.push_back({next, in_place(*next)});
      } else if (entry->second == kOpen) {
        return Entanglement{next->at, "refers to itself in a circle, without going into the value"};
      } else {
        top.longest = std::max(top.longest, entry->second);
      }
    }
  }
  return std::nullopt;
}

bool declares_names(const Node& node) {
  return node.object != nullptr && node.object->declares_any;
}

// Computes Node::closing of one node; chains are short by now, so recursion is safe.
class Gathering {
 public:
  explicit Gathering(const Node& head) {
    gather(head);
    for (const Node* member : group_) {
      for (const auto& [identity, branches] : choices(*member)) {
        Choice choice{identity, {}};
        boost::unordered_flat_set<const Node*> seen;
        for (const Node* branch : branches)
          gather_branch(*branch, choice, seen);
        closing_.choices.push_back(std::move(choice));
      }
    }
  }

  Closing take() { return std::move(closing_); }
  size_t size() const { return size_; }

 private:
  void gather(const Node& node) {
    if (!seen_.insert(&node).second) return;
    group_.push_back(&node);
    ++size_;
    if (declares_names(node)) {
      closing_.declaring.push_back(&node);
      const bool speaks = node.object->additional != nullptr || node.object->unevaluated != nullptr;
      if (closing_.closes == nullptr && !speaks) closing_.closes = &node;
    }
    for (const Node* one : conjuncts(node))
      gather(*one);
  }

  void gather_branch(const Node& node, Choice& choice,
                     boost::unordered_flat_set<const Node*>& seen) {
    if (!seen.insert(&node).second) return;
    ++size_;
    if (declares_names(node)) choice.declaring.push_back(&node);
    for (const Node* one : conjuncts(node))
      gather_branch(*one, choice, seen);
    for (const auto& [identity, branches] : choices(node)) {
      for (const Node* branch : branches)
        gather_branch(*branch, choice, seen);
    }
  }

  Closing closing_;
  Nodes group_;
  boost::unordered_flat_set<const Node*> seen_;
  size_t size_ = 0;
};

}  // namespace

std::optional<Entanglement> resolve_entanglement(Program& program) {
  if (std::optional<Entanglement> found = find_circle(program)) return found;
  if (!program.closed_by_default) return std::nullopt;
  size_t total = 0;
  for (Node& node : program.nodes) {
    Gathering gathering(node);
    total += gathering.size();
    if (total > kClosingMax)
      return Entanglement{node.at, "is part of too many schemas for one and the same value"};
    node.closing = std::make_unique<Closing>(gathering.take());
  }
  return std::nullopt;
}

}  // namespace windrow::schema
