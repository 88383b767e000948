// Evaluation of arrays and objects.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "schema/evaluation.h"

namespace windrow::schema {
namespace {

std::string_view plural(uint64_t count, std::string_view one, std::string_view many) {
  return count == 1 ? one : many;
}

// Where two items are equal, where there are any; by their hashes, so it takes n log n.
std::optional<std::pair<size_t, size_t>> equal_pair(const Items& items) {
  std::vector<std::pair<uint64_t, size_t>> order;
  order.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    order.emplace_back(items[i].hash(), i);
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t k = i + 1; k < order.size() && order[k].first == order[i].first; ++k) {
      if (items[order[i].second] == items[order[k].second])
        return std::pair(order[i].second, order[k].second);
    }
  }
  return std::nullopt;
}

}  // namespace

// --- arrays -----------------------------------------------------------------------------------

bool Evaluation::judge_array(const Node& node, const Items& items, const Where& where) {
  const ArrayRules& rules = *node.array;
  const auto wrong = [&](std::string_view keyword, std::string_view words, uint64_t bound) {
    return fail(node, keyword, where, [&] {
      return fmt::format("has {} {}, {} than {}", items.size(),
                         plural(items.size(), "item", "items"), words, bound);
    });
  };
  if (rules.min_items && items.size() < *rules.min_items)
    return wrong("minItems", "fewer", *rules.min_items);
  if (rules.max_items && items.size() > *rules.max_items)
    return wrong("maxItems", "more", *rules.max_items);
  if (!judge_items(node, items, where)) return false;
  if (rules.unique) {
    steps_ += static_cast<int64_t>(items.size());
    if (const auto pair = equal_pair(items)) {
      return fail(node, "uniqueItems", where, [&] {
        return fmt::format("has equal items at {} and {}: {}", pair->first, pair->second,
                           quote(items[pair->first]));
      });
    }
  }
  return rules.contains == nullptr || judge_contains(node, items, where);
}

bool Evaluation::judge_items(const Node& node, const Items& items, const Where& where) {
  const ArrayRules& rules = *node.array;
  const size_t count =
      rules.rest == nullptr ? std::min(items.size(), rules.prefix.size()) : items.size();
  for (size_t i = 0; i < count; ++i) {
    const Node* schema = i < rules.prefix.size() ? rules.prefix[i] : rules.rest;
    const Place place{.outer = where.place, .index = i, .is_item = true};
    if (!judge(*schema, items[i], {&place, nullptr, where.closed})) return false;
  }
  return true;
}

bool Evaluation::judge_contains(const Node& node, const Items& items, const Where& where) {
  const ArrayRules& rules = *node.array;
  const uint64_t least = rules.min_contains.value_or(1);
  uint64_t fitting = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (fitting >= least && !rules.max_contains) return true;
    if (holds_open(*rules.contains, items[i], where)) ++fitting;
  }
  const auto wrong = [&](std::string_view keyword, std::string_view words, uint64_t bound) {
    return fail(node, keyword, where, [&] {
      return fmt::format("has {} {} as contains wants them, {} than {}", fitting,
                         plural(fitting, "item", "items"), words, bound);
    });
  };
  if (fitting < least)
    return wrong(rules.min_contains ? "minContains" : "contains", "fewer", least);
  if (rules.max_contains && fitting > *rules.max_contains)
    return wrong("maxContains", "more", *rules.max_contains);
  return true;
}

// --- objects ----------------------------------------------------------------------------------

bool Evaluation::judge_object(const Node& node, const Members& members, const Where& where) {
  const ObjectRules& rules = *node.object;
  const auto wrong = [&](std::string_view keyword, std::string_view words, uint64_t bound) {
    return fail(node, keyword, where, [&] {
      return fmt::format("has {} {}, {} than {}", members.size(),
                         plural(members.size(), "member", "members"), words, bound);
    });
  };
  for (const std::string& name : rules.required) {
    if (find_member(members, name) == nullptr) {
      return fail(node, "required", where,
                  [&] { return fmt::format("lacks the member {}", quote(name)); });
    }
  }
  if (rules.min_properties && members.size() < *rules.min_properties)
    return wrong("minProperties", "fewer", *rules.min_properties);
  if (rules.max_properties && members.size() > *rules.max_properties)
    return wrong("maxProperties", "more", *rules.max_properties);
  return std::all_of(members.begin(), members.end(),
                     [&](const Member& member) { return judge_member(node, member, where); });
}

bool Evaluation::judge_member(const Node& node, const Member& member, const Where& where) {
  const ObjectRules& rules = *node.object;
  const Place place{.outer = where.place, .name = member.name};
  const Where inside{&place, nullptr, where.closed};
  if (++steps_ > limits_.steps_max) return give_up("takes too many steps to be judged");
  if (rules.names != nullptr) {
    const Value name(member.name);
    if (!holds_open(*rules.names, name, where)) {
      return fail(node, "propertyNames", where, [&] {
        return fmt::format("has a member named {}, which propertyNames forbids",
                           quote(member.name));
      });
    }
  }
  bool declared = false;
  if (const auto property = rules.properties.find(member.name);
      property != rules.properties.end()) {
    declared = true;
    if (!judge(*property->second, member.value, inside)) return false;
  }
  for (const auto& [pattern, schema] : rules.patterns) {
    ++steps_;
    if (!found(*pattern, member.name)) continue;
    declared = true;
    if (!judge(*schema, member.value, inside)) return false;
  }
  if (declared || rules.additional == nullptr) return given_up_.empty();
  if (rules.additional->never) {
    return fail(node, "additionalProperties", where, [&] {
      return fmt::format("has a member {}, which the schema does not name", quote(member.name));
    });
  }
  return judge(*rules.additional, member.value, inside);
}

bool Evaluation::judge_dependencies(const Node& node, const Value& value, const Members& members,
                                    const Where& where) {
  for (const Dependency& one : node.object->dependencies) {
    if (find_member(members, one.name) == nullptr) continue;
    for (const std::string& name : one.required) {
      if (find_member(members, name) != nullptr) continue;
      return fail(node, one.keyword, where, [&] {
        return fmt::format("has the member {} and lacks {}, which has to be beside it",
                           quote(one.name), quote(name));
      });
    }
    if (one.schema != nullptr && !judge_branch(*one.schema, one.schema, value, where)) return false;
  }
  return true;
}

// --- names that nobody declared ---------------------------------------------------------------

// The schema that closes the object by its absent additionalProperties; null: none does.
const Node* Evaluation::closed_by(const Scope& scope) {
  for (const Scope* one = &scope; one != nullptr; one = one->outer) {
    if (one->head->closing->closes != nullptr) return one->head->closing->closes;
  }
  return nullptr;
}

bool Evaluation::named(const Scope& scope, std::string_view name) {
  const auto declares = [&](const Node* node) {
    ++steps_;
    return node->object->declares(name);
  };
  const void* chosen = nullptr;  // this choice was made: its other branches do not count
  for (const Scope* one = &scope; one != nullptr; one = one->outer) {
    const Closing& closing = *one->head->closing;
    if (std::any_of(closing.declaring.begin(), closing.declaring.end(), declares)) return true;
    for (const Choice& choice : closing.choices) {
      if (choice.identity == chosen) continue;
      if (std::any_of(choice.declaring.begin(), choice.declaring.end(), declares)) return true;
    }
    chosen = one->choice;
  }
  return false;
}

bool Evaluation::judge_closing(const Scope& scope, const Members& members, const Where& where) {
  const Node* closes = closed_by(scope);
  if (closes == nullptr) return true;
  for (const Member& member : members) {
    if (++steps_ > limits_.steps_max) return give_up("takes too many steps to be judged");
    if (named(scope, member.name)) continue;
    return fail(*closes, "additionalProperties", where, [&] {
      return fmt::format("has a member {}, which the schema does not name", quote(member.name));
    });
  }
  return true;
}

}  // namespace windrow::schema
