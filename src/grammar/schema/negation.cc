#include "grammar/schema/negation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace windrow::grammar {
namespace {

namespace json = boost::json;

constexpr size_t kNegatedItemsMax = 300;      // each makes a rule with all those before it
constexpr size_t kNegatedNodesMax = 150'000;  // of the whole schema
constexpr size_t kNegatedValuesMax = 50'000;  // of one enum

// The values true and false, to which the rules of places refer.
const json::value& boolean(bool value) {
  static const std::array<json::value, 2> both{json::value(false), json::value(true)};
  return both[value ? 1 : 0];
}

// The ways to break the rules of one place. Ways about values of different types are independent
// of each other: the first ways of all types make one place, the second ways another one.
class Breaks {
 public:
  Breaks(Negations& negations, Schema& schema, SchemaId id)
      : negations_(negations),
        schema_(schema),
        pointer_(schema[id].pointer),
        rules_(schema[id].rules) {}

  Result<SchemaId> place() {
    free_ = static_cast<Types>(kAllTypes & ~rules_.types);
    if (rules_.allowed) add_values();
    if (wants(kNumberTypes)) add_numbers();
    if (wants(kStringType)) add_strings();
    if (wants(kArrayType)) add_arrays();
    if (wants(kObjectType)) add_objects();
    if (too_many_values_) {
      return schema_error(pointer_, fmt::format("more than {} values of an enum cannot be excluded "
                                                "by not, if or oneOf; say it with bounds or a "
                                                "pattern",
                                                kNegatedValuesMax));
    }
    if (too_large_) {
      return schema_error(pointer_, fmt::format("an array of more than {} items, each with a rule "
                                                "of its own, cannot be excluded by not, if or "
                                                "oneOf; make it shorter",
                                                kNegatedItemsMax));
    }
    return joined();
  }

 private:
  // Values of the type may hold, and not all of them break the rules.
  bool wants(Types types) const {
    return (rules_.types & types) != 0 && (free_ & rules_.types & types) == 0;
  }

  SchemaId joined() {
    // Integers and fractions have their rules in common.
    if (const auto numbers = static_cast<Types>(free_ & kNumberTypes);
        numbers != 0 && !numbers_.empty()) {
      numbers_.insert(numbers_.begin(), {numbers, {}});
      free_ &= static_cast<Types>(~kNumberTypes);
    }
    const size_t count = std::max({size_t{free_ != 0 ? 1U : 0U}, numbers_.size(), strings_.size(),
                                   arrays_.size(), objects_.size()});
    std::vector<SchemaId> places;
    for (size_t i = 0; i < count; ++i) {
      Rules rules;
      rules.types = i == 0 ? free_ : Types{0};
      if (i < numbers_.size()) {
        rules.types |= numbers_[i].first;
        rules.numbers = numbers_[i].second;
      }
      const auto take = [&](Types type, auto& of_place, const auto& ways) {
        if (i >= ways.size()) return;
        rules.types |= type;
        of_place = ways[i];
      };
      take(kStringType, rules.strings, strings_);
      take(kArrayType, rules.arrays, arrays_);
      take(kObjectType, rules.objects, objects_);
      places.push_back(negations_.add_rules(pointer_, std::move(rules)));
    }
    places.insert(places.end(), whole_.begin(), whole_.end());
    if (places.empty()) return negations_.add(pointer_, SchemaNode::Kind::kNever);
    if (places.size() == 1) return places.front();
    return negations_.add(pointer_, SchemaNode::Kind::kAny, std::move(places));
  }

  // --- enum and const

  void add_values() {
    too_many_values_ = rules_.allowed->size() > kNegatedValuesMax;
    if (too_many_values_) return;
    bool null = false;
    std::array<bool, 2> booleans{};
    std::vector<Decimal> numbers;
    std::vector<std::string> texts;
    std::vector<SchemaId> arrays;
    std::vector<SchemaId> objects;
    for (const json::value* value : *rules_.allowed) {
      null = null || value->is_null();
      if (const bool* one = value->if_bool()) booleans[*one ? 1 : 0] = true;
      if (const auto number = Decimal::of(*value)) numbers.push_back(*number);
      if (const json::string* text = value->if_string()) texts.emplace_back(*text);
      if (const json::array* array = value->if_array()) arrays.push_back(differs(*array));
      if (const json::object* object = value->if_object()) objects.push_back(differs(*object));
    }
    const auto all_break = [&](bool none, Types types) {
      if (none) free_ |= static_cast<Types>(rules_.types & types);
    };
    all_break(!null, kNullType);
    all_break(!booleans[0] && !booleans[1], kBooleanType);
    all_break(numbers.empty(), kNumberTypes);
    all_break(texts.empty(), kStringType);
    all_break(arrays.empty(), kArrayType);
    all_break(objects.empty(), kObjectType);
    if (wants(kBooleanType) && booleans[0] != booleans[1]) {
      Rules other;
      other.types = kBooleanType;
      other.allowed = std::vector<const json::value*>{&boolean(!booleans[1])};
      whole_.push_back(negations_.add_rules(pointer_, std::move(other)));
    }
    if (wants(kNumberTypes)) {
      std::ranges::sort(numbers);
      const auto twice = std::ranges::unique(numbers);
      numbers.erase(twice.begin(), twice.end());
      number_way().denied = std::move(numbers);
    }
    if (wants(kStringType)) strings_.push_back({.denied = std::move(texts)});
    if (wants(kArrayType)) add_structured(kArrayType, std::move(arrays));
    if (wants(kObjectType)) add_structured(kObjectType, std::move(objects));
  }

  void add_structured(Types type, std::vector<SchemaId> differences) {
    Rules structured;
    structured.types = type;
    differences.push_back(negations_.add_rules(pointer_, std::move(structured)));
    whole_.push_back(negations_.add(pointer_, SchemaNode::Kind::kAll, std::move(differences)));
  }

  SchemaId is_not(const json::value& value) {
    Rules rules;
    rules.allowed = std::vector<const json::value*>{&value};
    return negations_.not_yet(negations_.add_rules(pointer_, std::move(rules)));
  }

  // Arrays that are not this one.
  SchemaId differs(const json::array& array) {
    std::vector<SchemaId> places;
    const auto add = [&](ArrayRules arrays) {
      Rules rules;
      rules.types = kArrayType;
      rules.arrays = std::move(arrays);
      places.push_back(negations_.add_rules(pointer_, std::move(rules)));
    };
    const auto size = static_cast<uint32_t>(array.size());
    add({.count_min = size + 1});
    if (size > 0) add({.count_max = size - 1});
    too_large_ = too_large_ || size > kNegatedItemsMax;
    for (uint32_t i = 0; i < size && !too_large_; ++i)
      add(item_is(i, is_not(array[i])));
    return negations_.add(pointer_, SchemaNode::Kind::kAny, std::move(places));
  }

  SchemaId differs(const json::object& object) {
    std::vector<SchemaId> places;
    const auto add = [&](ObjectRules objects) {
      Rules rules;
      rules.types = kObjectType;
      rules.objects = std::move(objects);
      places.push_back(negations_.add_rules(pointer_, std::move(rules)));
    };
    SomeMember another;
    for (const auto& [name, value] : object) {
      add({.forbidden = {std::string(name)}});
      add(member_is(std::string(name), is_not(value)));
      another.names_not.emplace_back(name);
    }
    add({.some = {std::move(another)}});
    return negations_.add(pointer_, SchemaNode::Kind::kAny, std::move(places));
  }

  // --- rules of each type

  // Item number `i` is there, and so.
  ArrayRules item_is(uint32_t i, SchemaId item) {
    ArrayRules rules{.count_min = i + 1};
    if (schema_[item].kind == SchemaNode::Kind::kAlways) return rules;
    rules.prefix.assign(i, negations_.always());
    rules.prefix.push_back(item);
    return rules;
  }

  static ObjectRules member_is(const std::string& name, SchemaId value) {
    return {.properties = {{name, value}}, .required = {name}};
  }

  NumberRules& number_way() {
    return numbers_.emplace_back(static_cast<Types>(rules_.types & kNumberTypes), NumberRules())
        .second;
  }

  void add_numbers() {
    const NumberRules& rules = rules_.numbers;
    if (rules.min) number_way().lower_max(*rules.min, !rules.min_excluded);
    if (rules.max) number_way().raise_min(*rules.max, !rules.max_excluded);
    if (rules.multiple_of) number_way().multiples_not = {*rules.multiple_of};
    for (const Decimal& step : rules.multiples_not)
      number_way().multiple_of = step;
    for (const Decimal& number : rules.denied) {
      NumberRules& way = number_way();
      way.raise_min(number, false);
      way.lower_max(number, false);
    }
  }

  void add_strings() {
    const StringRules& rules = rules_.strings;
    if (rules.length_min > 0) strings_.push_back({.length_max = rules.length_min - 1});
    if (rules.length_max && *rules.length_max < std::numeric_limits<uint32_t>::max())
      strings_.push_back({.length_min = *rules.length_max + 1});
    for (const std::string& pattern : rules.patterns)
      strings_.push_back({.patterns_not = {pattern}});
    for (const std::string& format : rules.formats)
      strings_.push_back({.formats_not = {format}});
    for (const std::string& pattern : rules.patterns_not)
      strings_.push_back({.patterns = {pattern}});
    for (const std::string& format : rules.formats_not)
      strings_.push_back({.formats = {format}});
    if (rules.denied.empty()) return;
    Rules texts;
    texts.types = kStringType;
    texts.allowed.emplace();
    for (const std::string& text : rules.denied)
      texts.allowed->push_back(&schema_.values.emplace_back(text));
    whole_.push_back(negations_.add_rules(pointer_, std::move(texts)));
  }

  void add_arrays() {
    const ArrayRules& rules = rules_.arrays;
    if (rules.count_min > 0) arrays_.push_back({.count_max = rules.count_min - 1});
    if (rules.count_max && *rules.count_max < std::numeric_limits<uint32_t>::max())
      arrays_.push_back({.count_min = *rules.count_max + 1});
    const auto prefix = static_cast<uint32_t>(rules.prefix.size());
    too_large_ = too_large_ || prefix > kNegatedItemsMax;
    for (uint32_t i = 0; i < prefix && !too_large_; ++i) {
      if (const auto broken = broken_value(rules.prefix[i])) arrays_.push_back(item_is(i, *broken));
    }
    if (const auto broken = rules.items ? broken_value(*rules.items) : std::nullopt)
      arrays_.push_back({.contains = {{*broken, 1, std::nullopt, prefix}}});
    for (const ContainsRule& rule : rules.contains)
      add_contains(rule);
    if (rules.unique) arrays_.push_back({.repeated = true});
    if (rules.repeated) arrays_.push_back({.unique = true});
  }

  void add_contains(const ContainsRule& rule) {
    too_large_ = too_large_ || rule.from > kNegatedItemsMax;
    if (rule.min == 1 && !too_large_) {
      // No item is valid under the rule's schema, so items need not be counted.
      arrays_.push_back({.prefix = std::vector(rule.from, negations_.always()),
                         .items = negations_.not_yet(rule.schema)});
    } else if (rule.min > 1) {
      arrays_.push_back({.contains = {{rule.schema, 0, rule.min - 1, rule.from}}});
    }
    if (rule.max && *rule.max < std::numeric_limits<uint32_t>::max())
      arrays_.push_back({.contains = {{rule.schema, *rule.max + 1, std::nullopt, rule.from}}});
  }

  // The place of the values that are not valid there; nothing if there are none.
  std::optional<SchemaId> broken_value(SchemaId id) {
    switch (schema_[id].kind) {
      case SchemaNode::Kind::kAlways:
        return std::nullopt;
      case SchemaNode::Kind::kNever:
        return negations_.always();
      default:
        return negations_.not_yet(id);
    }
  }

  void add_objects() {
    const ObjectRules& rules = rules_.objects;
    add_missing_or_broken(rules);
    for (const std::string& name : rules.forbidden)
      objects_.push_back({.required = {name}});
    if (rules.count_min > 0) objects_.push_back({.count_max = rules.count_min - 1});
    if (rules.count_max && *rules.count_max < std::numeric_limits<uint32_t>::max())
      objects_.push_back({.count_min = *rules.count_max + 1});
    SomeMember undeclared;
    const std::unordered_set<std::string_view> required(rules.required.begin(),
                                                        rules.required.end());
    for (const auto& [name, value] : rules.properties) {
      undeclared.names_not.push_back(name);
      if (required.contains(name)) continue;
      if (const auto broken = broken_value(value)) objects_.push_back(member_is(name, *broken));
    }
    for (const auto& [pattern, value] : rules.patterns) {
      undeclared.patterns_not.push_back(pattern);
      if (const auto broken = broken_value(value))
        objects_.push_back({.some = {{.pattern = pattern, .value = *broken}}});
    }
    if (const auto broken = rules.additional ? broken_value(*rules.additional) : std::nullopt) {
      undeclared.value = *broken;
      objects_.push_back({.some = {std::move(undeclared)}});
    }
    for (const SchemaId name : rules.names) {
      if (const auto broken = broken_value(name)) objects_.push_back({.some = {{.name = *broken}}});
    }
    for (const SomeMember& member : rules.some)
      objects_.push_back(no_member(member));
  }

  // A required member is missing. Where it has a rule, too, that is one way with breaking the rule:
  // if there is such a member, it is not valid. Each way less halves the combinations of choices.
  void add_missing_or_broken(const ObjectRules& rules) {
    std::unordered_map<std::string_view, SchemaId> values;
    if (!rules.required.empty()) values.insert(rules.properties.begin(), rules.properties.end());
    for (const std::string& name : rules.required) {
      const auto value = values.find(name);
      const auto broken = value == values.end() ? std::nullopt : broken_value(value->second);
      objects_.push_back(broken ? ObjectRules{.properties = {{name, *broken}}}
                                : ObjectRules{.forbidden = {name}});
    }
  }

  // No member is like this one, which has a pattern, a schema of its name, or names and patterns
  // that it has not.
  ObjectRules no_member(const SomeMember& member) {
    const SchemaId value = member.value ? negations_.not_yet(*member.value)
                                        : negations_.add(pointer_, SchemaNode::Kind::kNever);
    if (member.name) return {.names = {negations_.not_yet(*member.name)}};
    if (member.pattern) return {.patterns = {{*member.pattern, value}}};
    ObjectRules rules{.additional = value};
    for (const std::string& name : member.names_not)
      rules.properties.emplace_back(name, negations_.always());
    for (const std::string& pattern : member.patterns_not)
      rules.patterns.emplace_back(pattern, negations_.always());
    return rules;
  }

  Negations& negations_;
  Schema& schema_;
  const std::string pointer_;
  const Rules& rules_;  // of a deque, so that it stays where it is
  Types free_ = 0;      // all values of these types break a rule
  std::vector<std::pair<Types, NumberRules>> numbers_;
  std::vector<StringRules> strings_;
  std::vector<ArrayRules> arrays_;
  std::vector<ObjectRules> objects_;
  std::vector<SchemaId> whole_;
  bool too_large_ = false;
  bool too_many_values_ = false;
};

}  // namespace

Result<SchemaId> Negations::of(SchemaId id) {
  if (const auto found = known_.find(id); found != known_.end()) return found->second;
  if (schema_.nodes.size() > kNegatedNodesMax) {
    return schema_error(schema_[id].pointer,
                        "not, if and oneOf make too many parts of this schema; make it simpler");
  }
  Result<SchemaId> made = make(id);
  if (!made) return made;
  known_.emplace(id, *made);
  known_.emplace(*made, id);
  return made;
}

SchemaId Negations::not_yet(SchemaId id) {
  const auto found = not_yet_.find(id);
  if (found != not_yet_.end()) return found->second;
  const SchemaId made = add(schema_[id].pointer, SchemaNode::Kind::kNot, {id});
  not_yet_.emplace(id, made);
  return made;
}

SchemaId Negations::add(std::string pointer, SchemaNode::Kind kind, std::vector<SchemaId> parts) {
  const SchemaId id(static_cast<uint32_t>(schema_.nodes.size()));
  SchemaNode& node = schema_.nodes.emplace_back();
  node.kind = kind;
  node.pointer = std::move(pointer);
  node.parts = std::move(parts);
  return id;
}

SchemaId Negations::add_rules(std::string pointer, Rules rules) {
  const SchemaId id = add(std::move(pointer), SchemaNode::Kind::kRules);
  schema_.nodes.back().rules = std::move(rules);
  return id;
}

SchemaId Negations::always() {
  if (!always_) always_ = add("#", SchemaNode::Kind::kAlways);
  return *always_;
}

Result<SchemaId> Negations::make(SchemaId id) {
  const SchemaNode& node = schema_[id];
  const auto parts_not = [&] {
    std::vector<SchemaId> parts;
    for (const SchemaId part : node.parts)
      parts.push_back(not_yet(part));
    return parts;
  };
  switch (node.kind) {
    case SchemaNode::Kind::kAlways:
      return add(node.pointer, SchemaNode::Kind::kNever);
    case SchemaNode::Kind::kNever:
      return add(node.pointer, SchemaNode::Kind::kAlways);
    case SchemaNode::Kind::kRules:
      return Breaks(*this, schema_, id).place();
    case SchemaNode::Kind::kAll:
      return add(node.pointer, SchemaNode::Kind::kAny, parts_not());
    case SchemaNode::Kind::kAny:
    case SchemaNode::Kind::kJudged:
      return add(node.pointer, SchemaNode::Kind::kAll, parts_not());
    case SchemaNode::Kind::kOne:
      return make_one(node);
    case SchemaNode::Kind::kNot:
      break;
  }
  return add(node.pointer, SchemaNode::Kind::kAll, {node.parts.front()});
}

// The negation of a oneOf: no branch holds, or a branch and a later branch hold together.
SchemaId Negations::make_one(const SchemaNode& node) {
  std::vector<SchemaId> none;
  for (const SchemaId part : node.parts)
    none.push_back(not_yet(part));
  std::vector<SchemaId> places{add(node.pointer, SchemaNode::Kind::kAll, std::move(none))};
  SchemaId behind = node.parts.back();
  for (size_t i = node.parts.size() - 1; i-- > 0;) {
    const SchemaId part = node.parts[i];
    places.push_back(add(node.pointer, SchemaNode::Kind::kAll, {part, behind}));
    behind = add(node.pointer, SchemaNode::Kind::kAny, {part, behind});
  }
  return add(node.pointer, SchemaNode::Kind::kAny, std::move(places));
}

}  // namespace windrow::grammar
