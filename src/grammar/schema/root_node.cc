#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {
namespace {

// Whether some value of the node ends when those of `ends` do.
bool can_end(Conjunctions& conjunctions, const Node& node, const std::vector<bool>& ends) {
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
      return !member.required || ended(conjunctions.find_member(node, member.name));
    });
    if (all) return true;
  }
  if ((node.types & kArrayType) == 0) return false;
  const ArrayShape& shape = node.arrays;
  for (size_t i = 0; i < shape.prefix.size() && i < shape.count_min; ++i) {
    if (!ended(conjunctions.find(shape.prefix[i]))) return false;
  }
  return shape.count_min <= shape.prefix.size() || ended(conjunctions.find(shape.rest));
}

// Where the values of a node that is possible come back to themselves, if all of them do: such a
// value never ends.
std::optional<std::string> find_endless(Conjunctions& conjunctions, NodeId root) {
  std::vector<bool> ends(conjunctions.nodes_count(), false);
  // In reverse: most nodes were found before those they need.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = ends.size(); i-- > 0;) {
      if (!conjunctions.check_give_up()) return std::nullopt;
      if (ends[i] || !can_end(conjunctions, conjunctions[NodeId(static_cast<uint32_t>(i))], ends))
        continue;
      ends[i] = true;
      changed = true;
    }
  }
  if (ends[root.value()]) return std::nullopt;
  // From the root along what does not end, to where it comes back to itself.
  std::vector<bool> seen(ends.size(), false);
  const Node* node = &conjunctions[root];
  while (true) {
    const auto endless = [&](const Result<NodeId>& id) {
      return id && id->value() < ends.size() && !ends[id->value()] && conjunctions.possible(*id);
    };
    std::optional<NodeId> next;
    for (const NodeId choice : node->choices) {
      if (!next && endless(choice)) next = choice;
    }
    for (const Member& member : node->objects.members) {
      if (next || !member.required) continue;
      if (const Result<NodeId> value = conjunctions.find_member(*node, member.name); endless(value))
        next = *value;
    }
    const ArrayShape& items = node->arrays;
    for (size_t i = 0; i < items.count_min && i <= items.prefix.size() && !next; ++i) {
      const Result<NodeId> item =
          conjunctions.find(i < items.prefix.size() ? items.prefix[i] : items.rest);
      if (endless(item)) next = *item;
    }
    if (!next || seen[next->value()]) break;
    seen[next->value()] = true;
    node = &conjunctions[*next];
  }
  return node->pointer;
}

}  // namespace

Result<NodeId> possible_root(Conjunctions& conjunctions, const Schema& schema) {
  Result<NodeId> root = conjunctions.find({{schema.root, false}});
  if (!root || conjunctions.possible(*root)) return root;
  return Error{ErrorKind::kInvalid,
               fmt::format("no value is valid under this schema: {}", conjunctions[*root].why)};
}

Result<void> check_ends(Conjunctions& conjunctions, NodeId root, const GiveUp& give_up) {
  if (const auto endless = find_endless(conjunctions, root)) {
    return schema_error(*endless,
                        "a value never ends: it must hold another one of its kind; take that out "
                        "of required or minItems, or allow null in its place");
  }
  if (give_up && give_up())
    return Error{ErrorKind::kUnavailable, "working out the schema took too long"};
  return {};
}

}  // namespace windrow::grammar
