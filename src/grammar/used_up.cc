#include "grammar/used_up.h"

#include <algorithm>
#include <utility>

namespace windrow::grammar {
namespace {

using Kind = Grammar::Node::Kind;

// What is nested deeper counts as possible; at worst, a text comes to a dead end.
constexpr int kDepthMax = 2000;

}  // namespace

bool UsedUp::has(uint32_t automaton) const {
  return std::ranges::binary_search(automata_, automaton);
}

bool UsedUp::blocked(const Position& at, uint32_t outward, uint32_t containers) {
  if (outward == 0 && at.state == 0 && at.automaton != Automata::kTexts && has(at.automaton))
    return true;
  return !can_go_on(at.stack, outward, containers, 0);
}

// Looks at the frames of so many containers, leaving out those of the first `outward`.
bool UsedUp::can_go_on(StackId stack, uint32_t outward, uint32_t containers, int depth) {
  const StackKey key(stack, {outward, containers});
  if (const auto found = stacks_.find(key); found != stacks_.end()) return found->second;
  if (depth > kDepthMax) return true;
  const Grammar& grammar = recognizer_.grammar();
  const auto goes_on = [&](const Frame& frame) {
    if (frame.node == Stacks::kEndNode) return true;
    const Grammar::Node& node = grammar.nodes[frame.node];
    if (node.kind == Kind::kContainer) {
      if (outward > 0) return can_go_on(frame.below, outward - 1, containers, depth + 1);
      return containers == 1 || can_go_on(frame.below, 0, containers - 1, depth + 1);
    }
    if (outward == 0) {
      const uint32_t* const children = grammar.children.data() + node.first;
      if (node.kind == Kind::kRepeat && frame.first > 0 && !can_pass(children[0], depth))
        return false;
      if (node.kind == Kind::kSequence &&
          !std::all_of(children + frame.first, children + node.count,
                       [&](uint32_t child) { return can_pass(child, depth); }))
        return false;
      if (node.kind == Kind::kMembers &&
          !recognizer_.can_write_member(frame, [&] { return can_pass(children[0], depth); }))
        return false;
    }
    return can_go_on(frame.below, outward, containers, depth + 1);
  };
  const bool result = std::ranges::any_of(recognizer_.frames(stack), goes_on);
  stacks_.emplace(key, result);
  return result;
}

// Whether the node has a text without the lexemes. A circle adds none.
bool UsedUp::can_pass(uint32_t number, int depth) {
  const auto [found, is_new] = nodes_.try_emplace(number, Passing::kOpen);
  if (!is_new) {
    if (found->second == Passing::kOpen) cut_ = true;
    return found->second == Passing::kYes;
  }
  if (depth > kDepthMax) {
    nodes_.erase(number);
    return true;
  }
  const bool cut_before = std::exchange(cut_, false);
  const bool result = find_can_pass(recognizer_.grammar().nodes[number], depth + 1);
  // What was found while a node on the way was open is only known if it is true.
  if (result || !cut_) {
    nodes_[number] = result ? Passing::kYes : Passing::kNo;
  } else {
    nodes_.erase(number);
  }
  cut_ |= cut_before;
  return result;
}

// A container within begins with nothing seen.
bool UsedUp::find_can_pass(const Grammar::Node& node, int depth) {
  const uint32_t* const children = recognizer_.grammar().children.data() + node.first;
  const auto passes = [&](uint32_t child) { return can_pass(child, depth); };
  switch (node.kind) {
    case Kind::kTexts:
    case Kind::kContainer:
    case Kind::kMembers:
      return true;
    case Kind::kLexeme:
      return !has(node.first + 1);
    case Kind::kSequence:
      return std::all_of(children, children + node.count, passes);
    case Kind::kChoice:
      return std::any_of(children, children + node.count, passes);
    case Kind::kRepeat:
      return node.min == 0 || passes(children[0]);
  }
  return true;
}

}  // namespace windrow::grammar
