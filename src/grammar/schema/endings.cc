#include "grammar/schema/endings.h"

#include <algorithm>

#include "grammar/schema/single_spelling.h"

namespace windrow::grammar {

Result<bool> Endings::ends(NodeId id) {
  if (const auto found = known_.find(id); found != known_.end()) return found->second.ends;
  // All that can decide it. A node that is known already is decided.
  std::vector<NodeId> open{id};
  known_.try_emplace(id);
  for (size_t i = 0; i < open.size(); ++i) {
    if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on.error();
    Result<Known> known = look_at(open[i]);
    if (!known) return known.error();
    for (const Way& way : known->ways) {
      const auto add = [&](NodeId needed) {
        if (known_.try_emplace(needed).second) open.push_back(needed);
      };
      std::ranges::for_each(way.all, add);
      for (const auto& [value, names] : way.counted)
        add(value);
    }
    known_[open[i]] = *std::move(known);
  }
  // In reverse: most nodes were found before those they need.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = open.size(); i-- > 0;) {
      if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on.error();
      Known& known = known_.at(open[i]);
      if (known.ends) continue;
      known.ends = std::ranges::any_of(known.ways, [&](const Way& way) { return holds(way); });
      changed = changed || known.ends;
    }
  }
  return known_.at(id).ends;
}

Result<Endings::Known> Endings::look_at(NodeId id) {
  const Node& node = conjunctions_[id];
  Known known;
  switch (node.kind) {
    case Node::Kind::kNone:
      return known;
    case Node::Kind::kOpen:  // it has failed, which is reported where it is written
      known.ends = true;
      return known;
    case Node::Kind::kChoice:
      for (const NodeId choice : node.choices)
        known.ways.push_back({.all = {choice}});
      return known;
    case Node::Kind::kShape:
      break;
  }
  known.ends = node.allowed || (node.types & ~(kArrayType | kObjectType)) != 0;
  if (known.ends) return known;
  for (const Types type : {kObjectType, kArrayType}) {
    if ((node.types & type) == 0) continue;
    Result<Way> way = type == kObjectType ? object_way(node) : array_way(node);
    if (!way) return way.error();
    known.ways.push_back(*std::move(way));
  }
  return known;
}

Result<Endings::Way> Endings::object_way(const Node& node) {
  const ObjectShape& shape = node.objects;
  Way way;
  const auto required = std::ranges::count_if(shape.members, &Member::required);
  if (shape.count_min > required) way.count_min = shape.count_min - static_cast<uint32_t>(required);
  for (const Member& member : shape.members) {
    if (!member.required && way.count_min == 0) continue;
    Result<NodeId> value = conjunctions_.find_member(node, member.name);
    if (!value) return value.error();
    if (member.required) {
      way.all.push_back(*value);
    } else {
      way.counted.emplace_back(*value, 1U);
    }
  }
  if (way.count_min == 0) return way;
  Result<std::vector<NameClass>> classes = name_classes(conjunctions_, node);
  if (!classes) return classes.error();
  for (const NameClass& names : *classes) {
    const auto count = names.names ? texts_count(*names.names, way.count_min) : std::nullopt;
    way.counted.emplace_back(names.value, count.value_or(way.count_min));
  }
  return way;
}

Result<Endings::Way> Endings::array_way(const Node& node) {
  const ArrayShape& shape = node.arrays;
  Way way;
  for (size_t i = 0; i < shape.count_min && i <= shape.prefix.size(); ++i) {
    Result<NodeId> item =
        conjunctions_.find(i < shape.prefix.size() ? shape.prefix[i] : shape.rest);
    if (!item) return item.error();
    way.all.push_back(*item);
  }
  return way;
}

bool Endings::holds(const Way& way) const {
  const auto ended = [&](NodeId id) { return known_.at(id).ends; };
  if (!std::ranges::all_of(way.all, ended)) return false;
  uint64_t count = 0;
  for (const auto& [value, names] : way.counted)
    count += ended(value) ? names : 0;
  return count >= way.count_min;
}

std::optional<std::string> Endings::endless_at(NodeId id) const {
  std::vector<NodeId> path;
  for (std::optional<NodeId> next = id; next;) {
    if (std::ranges::find(path, *next) != path.end()) return conjunctions_[*next].pointer;
    path.push_back(*next);
    next = endless_within(*next);
  }
  return std::nullopt;
}

// A value that the values of this one have to hold, or may have to, and that does not end.
std::optional<NodeId> Endings::endless_within(NodeId id) const {
  const auto endless = [&](NodeId one) {
    return conjunctions_.possible(one) && !known_.at(one).ends;
  };
  for (const Way& way : known_.at(id).ways) {
    const auto needed = std::ranges::find_if(way.all, endless);
    if (needed != way.all.end()) return *needed;
    for (const auto& [value, names] : way.counted) {
      if (endless(value)) return value;
    }
  }
  return std::nullopt;
}

}  // namespace windrow::grammar
