// Conjunctions: which value never ends, because what it must hold is again such a value. Asked for
// words only, when there turned out to be no text.
#include <algorithm>

#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {

// Whether some value of the node ends when those of `ends` do.
bool Conjunctions::can_end(const Node& node, const std::vector<bool>& ends) {
  if (node.kind == Node::Kind::kChoice) {
    return std::ranges::any_of(node.choices, [&](NodeId id) { return ends[id.value()]; });
  }
  if (node.kind != Node::Kind::kShape) return false;
  if (node.allowed || (node.types & ~(kArrayType | kObjectType)) != 0) return true;
  const auto ended = [&](const Result<NodeId>& id) {
    return !id || id->value() >= ends.size() || ends[id->value()];
  };
  if ((node.types & kObjectType) != 0) {
    const bool all = std::ranges::all_of(node.objects.members, [&](const Member& member) {
      return !member.required || ended(find_member(node, member.name));
    });
    if (all) return true;
  }
  if ((node.types & kArrayType) == 0) return false;
  const ArrayShape& shape = node.arrays;
  for (size_t i = 0; i < shape.prefix.size() && i < shape.count_min; ++i) {
    if (!ended(find(shape.prefix[i]))) return false;
  }
  return shape.count_min <= shape.prefix.size() || ended(find(shape.rest));
}

std::optional<std::string> Conjunctions::endless(NodeId root) {
  std::vector<bool> ends(nodes_.size(), false);
  // In reverse: what a node needs was mostly found after it.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = ends.size(); i-- > 0;) {
      if (!ask_to_go_on()) return std::nullopt;
      if (ends[i] || !can_end(nodes_[i], ends)) continue;
      ends[i] = true;
      changed = true;
    }
  }
  if (ends[root.value()]) return std::nullopt;
  // From the root along what does not end, to where it comes back to itself.
  std::vector<bool> seen(ends.size(), false);
  const Node* node = &nodes_[root.value()];
  while (true) {
    const auto endless = [&](const Result<NodeId>& id) {
      return id && id->value() < ends.size() && !ends[id->value()] && possible(*id);
    };
    std::optional<NodeId> next;
    for (const NodeId choice : node->choices) {
      if (!next && endless(choice)) next = choice;
    }
    for (const Member& member : node->objects.members) {
      if (next || !member.required) continue;
      if (const Result<NodeId> value = find_member(*node, member.name); endless(value))
        next = *value;
    }
    const ArrayShape& items = node->arrays;
    for (size_t i = 0; i < items.count_min && i <= items.prefix.size() && !next; ++i) {
      const Result<NodeId> item = find(i < items.prefix.size() ? items.prefix[i] : items.rest);
      if (endless(item)) next = *item;
    }
    if (!next || seen[next->value()]) break;
    seen[next->value()] = true;
    node = &nodes_[next->value()];
  }
  return node->pointer;
}

}  // namespace windrow::grammar
