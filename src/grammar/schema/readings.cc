#include "grammar/schema/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace windrow::grammar {
namespace {

constexpr size_t kPairsMax = 200'000;
constexpr size_t kVariantsMax = 32;
constexpr Types kStructured = kArrayType | kObjectType;

class Readings {
 public:
  explicit Readings(Conjunctions& conjunctions) : conjunctions_(conjunctions) {}

  Result<void> check(NodeId root) {
    add_pair(root, root);
    while (!todo_.empty()) {
      if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on;
      const auto [left, right] = todo_.back();
      todo_.pop_back();
      if (seen_.size() > kPairsMax) {
        return schema_error(conjunctions_[left].pointer,
                            "uniqueItems of arrays or objects, below so many alternatives that "
                            "they cannot be compared with each other; leave uniqueItems out");
      }
      if (Result<void> looked = look_at(left, right); !looked) return looked;
    }
    return {};
  }

 private:
  // Of a node and all that it refers to, outside of items that are one lexeme.
  struct Facts {
    std::vector<NodeId> next;
    bool distinct = false;  // there are distinct lexemes
    bool whole = false;     // arrays or objects are one of them
  };

  void add_pair(NodeId left, NodeId right) {
    const uint64_t key =
        uint64_t{std::min(left, right).value()} << 32 | std::max(left, right).value();
    if (seen_.insert(key).second) todo_.emplace_back(left, right);
  }

  void add_pairs(const std::vector<NodeId>& left, const std::vector<NodeId>& right) {
    for (const NodeId a : left) {
      for (const NodeId b : right)
        add_pair(a, b);
    }
  }

  // The values of both nodes that a text may be.
  Result<void> look_at(NodeId left, NodeId right) {
    for (const NodeId id : {left, right}) {
      if (Result<void> found = find_facts(id); !found) return found;
    }
    const Facts& a = facts_.at(left);
    const Facts& b = facts_.at(right);
    if (!(a.whole && b.distinct) && !(a.distinct && b.whole)) return {};
    const Node& one = conjunctions_[left];
    const Node& other = conjunctions_[right];
    if (one.kind == Node::Kind::kChoice) {
      add_pairs(one.choices, {right});
      return {};
    }
    if (other.kind == Node::Kind::kChoice) {
      add_pairs({left}, other.choices);
      return {};
    }
    if (one.allowed || other.allowed) return {};
    const Types both = one.types & other.types;
    if ((both & kArrayType) != 0) {
      if (Result<void> arrays = look_at_arrays(one, other); !arrays) return arrays;
    }
    return (both & kObjectType) != 0 ? look_at_objects(one, other) : Result<void>();
  }

  Result<void> look_at_arrays(const Node& one, const Node& other) {
    if (is_unique(one.arrays) && is_unique(other.arrays)) return {};
    const size_t prefix = std::max(one.arrays.prefix.size(), other.arrays.prefix.size());
    for (size_t i = 0; i <= prefix; ++i) {
      Result<std::vector<NodeId>> left = items_at(one.arrays, i);
      if (!left) return left.error();
      Result<std::vector<NodeId>> right = items_at(other.arrays, i);
      if (!right) return right.error();
      if (!is_unique(one.arrays) && !is_unique(other.arrays)) {
        add_pairs(*left, *right);
        continue;
      }
      if (is_unique(other.arrays)) std::swap(*left, *right);
      for (const NodeId whole : *left) {
        for (const NodeId item : *right) {
          if (Result<void> agree = compare(whole, item); !agree) return agree;
        }
      }
    }
    return {};
  }

  // An item that is one lexeme, and the same text read as a value of `item`.
  Result<void> compare(NodeId whole, NodeId item) {
    const Node& node = conjunctions_[item];
    if (node.kind == Node::Kind::kChoice) {
      for (const NodeId choice : node.choices) {
        if (Result<void> agree = compare(whole, choice); !agree) return agree;
      }
      return {};
    }
    if (node.allowed || (structured_types(whole) & node.types) == 0) return {};
    if (Result<void> found = find_facts(item); !found) return found;
    if (!facts_.at(item).distinct) return {};
    return schema_error(
        conjunctions_[whole].pointer,
        fmt::format("items of uniqueItems are compared by their texts as a whole, and by another "
                    "alternative ({}) the same text has items or members that are compared or "
                    "counted themselves; leave out uniqueItems here, or there uniqueItems, "
                    "minProperties, maxProperties and negated rules for members",
                    node.pointer));
  }

  Result<void> look_at_objects(const Node& one, const Node& other) {
    std::set<std::string_view> names;
    for (const Node* node : {&one, &other}) {
      for (const Member& member : node->objects.members)
        names.insert(member.name);
    }
    for (const std::string_view name : names) {
      Result<std::vector<NodeId>> left = values_of(one.objects, name);
      if (!left) return left.error();
      Result<std::vector<NodeId>> right = values_of(other.objects, name);
      if (!right) return right.error();
      add_pairs(*left, *right);
    }
    Result<std::vector<NodeId>> left = undeclared_values(one);
    if (!left) return left.error();
    Result<std::vector<NodeId>> right = undeclared_values(other);
    if (!right) return right.error();
    add_pairs(*left, *right);
    return {};
  }

  // --- the values within a value

  static bool is_unique(const ArrayShape& shape) {
    return shape.unique && (!shape.count_max || *shape.count_max > 1);
  }

  // The nodes of `terms`, and of `terms` together with some of the others.
  Result<std::vector<NodeId>> variants(const Terms& terms, const std::vector<Terms>& others) {
    std::vector<Terms> all{terms};
    for (const Terms& other : others) {
      if (all.size() >= kVariantsMax) break;
      for (size_t i = all.size(); i-- > 0;) {
        all.push_back(all[i]);
        all.back().insert(all.back().end(), other.begin(), other.end());
      }
    }
    std::vector<NodeId> found;
    for (const Terms& each : all) {
      Result<NodeId> id = conjunctions_.find(each);
      if (!id) return id.error();
      if (conjunctions_.possible(*id) && std::ranges::find(found, *id) == found.end())
        found.push_back(*id);
    }
    return found;
  }

  Result<std::vector<NodeId>> items_at(const ArrayShape& shape, size_t index) {
    if (shape.count_max && index >= *shape.count_max) return std::vector<NodeId>();
    std::vector<Terms> counted;
    for (const ContainsShape& contains : shape.contains) {
      if (contains.max != 0U) counted.push_back(contains.item);
      if (contains.max) counted.push_back(conjunctions_.negated(contains.item));
    }
    return variants(index < shape.prefix.size() ? shape.prefix[index] : shape.rest, counted);
  }

  static std::vector<Terms> demanded(const ObjectShape& shape) {
    std::vector<Terms> values;
    for (const SomeMemberShape& some : shape.some) {
      if (some.rule->value) values.push_back({some.term(*some.rule->value)});
    }
    return values;
  }

  Result<std::vector<NodeId>> values_of(const ObjectShape& shape, std::string_view name) {
    Result<std::optional<Terms>> terms = conjunctions_.member_terms(shape, name);
    if (!terms) return terms.error();
    return *terms ? variants(**terms, demanded(shape)) : std::vector<NodeId>();
  }

  Result<std::vector<NodeId>> undeclared_values(const Node& node) {
    Result<std::vector<NameClass>> classes = name_classes(conjunctions_, node);
    if (!classes) return classes.error();
    std::vector<NodeId> all;
    for (const NameClass& names : *classes) {
      Result<std::vector<NodeId>> some = variants(names.terms, demanded(node.objects));
      if (!some) return some;
      all.insert(all.end(), some->begin(), some->end());
    }
    return all;
  }

  // Of arrays and objects among the values.
  Types structured_types(NodeId id) const {
    const Node& node = conjunctions_[id];
    Types types = 0;
    for (const NodeId choice : node.choices)
      types |= structured_types(choice);
    if (node.kind != Node::Kind::kShape) return types;
    if (!node.allowed) return node.types & kStructured;
    for (const boost::json::value* value : *node.allowed)
      types |= value->is_array() ? kArrayType : value->is_object() ? kObjectType : Types{0};
    return types;
  }

  // --- facts

  // Finds the facts of the node, and of all that it refers to.
  Result<void> find_facts(NodeId root) {
    if (facts_.contains(root)) return {};
    std::vector<NodeId> found{root};
    facts_.emplace(root, Facts());
    for (size_t i = 0; i < found.size(); ++i) {
      if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on;
      Result<Facts> facts = facts_by_itself(found[i]);
      if (!facts) return facts.error();
      for (const NodeId next : facts->next) {
        if (facts_.emplace(next, Facts()).second) found.push_back(next);
      }
      facts_[found[i]] = *std::move(facts);
    }
    spread(found);
    return {};
  }

  Result<Facts> facts_by_itself(NodeId id) {
    const Node& node = conjunctions_[id];
    Facts facts{.next = node.choices};
    if (node.kind != Node::Kind::kShape || node.allowed) return facts;
    if ((node.types & kArrayType) != 0) {
      facts.distinct = is_unique(node.arrays);
      for (size_t i = 0; i <= node.arrays.prefix.size(); ++i) {
        Result<std::vector<NodeId>> items = items_at(node.arrays, i);
        if (!items) return items.error();
        if (!facts.distinct) facts.next.insert(facts.next.end(), items->begin(), items->end());
        facts.whole =
            facts.whole || (facts.distinct && std::ranges::any_of(*items, [&](NodeId item) {
                              return structured_types(item) != 0;
                            }));
      }
    }
    if ((node.types & kObjectType) == 0) return facts;
    facts.distinct = facts.distinct || node.objects.counts_names();
    for (const Member& member : node.objects.members) {
      Result<std::vector<NodeId>> values = values_of(node.objects, member.name);
      if (!values) return values.error();
      facts.next.insert(facts.next.end(), values->begin(), values->end());
    }
    Result<std::vector<NodeId>> values = undeclared_values(node);
    if (!values) return values.error();
    facts.next.insert(facts.next.end(), values->begin(), values->end());
    return facts;
  }

  // From what nodes refer to, to them.
  void spread(const std::vector<NodeId>& nodes) {
    std::unordered_map<NodeId, std::vector<NodeId>> before;
    for (const NodeId id : nodes) {
      for (const NodeId next : facts_[id].next)
        before[next].push_back(id);
    }
    for (bool Facts::* const fact : {&Facts::distinct, &Facts::whole}) {
      std::vector<NodeId> todo;
      for (const auto& [id, facts] : facts_) {
        if (facts.*fact) todo.push_back(id);
      }
      while (!todo.empty()) {
        const NodeId id = todo.back();
        todo.pop_back();
        const auto found = before.find(id);
        if (found == before.end()) continue;
        for (const NodeId each : found->second) {
          if (std::exchange(facts_[each].*fact, true)) continue;
          todo.push_back(each);
        }
      }
    }
  }

  Conjunctions& conjunctions_;
  std::unordered_map<NodeId, Facts> facts_;
  std::unordered_set<uint64_t> seen_;
  std::vector<std::pair<NodeId, NodeId>> todo_;
};

}  // namespace

Result<void> check_readings(Conjunctions& conjunctions, NodeId root) {
  return Readings(conjunctions).check(root);
}

}  // namespace windrow::grammar
