#include "grammar/schema/conjunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/schema/json_values.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

// --- joining -------------------------------------------------------------------------------------

template <class T>
void add_new(std::vector<T>& all, const std::vector<T>& more) {
  for (const T& one : more) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
  }
}

void lower(std::optional<uint32_t>& bound, const std::optional<uint32_t>& other) {
  if (other) bound = std::min(bound.value_or(*other), *other);
}

void join_strings(StringRules& all, const StringRules& more) {
  all.length_min = std::max(all.length_min, more.length_min);
  lower(all.length_max, more.length_max);
  add_new(all.patterns, more.patterns);
  add_new(all.formats, more.formats);
}

bool says_something(const ObjectRules& rules) {
  return rules.closed || rules.additional || !rules.properties.empty() || !rules.patterns.empty() ||
         !rules.required.empty();
}

void join_arrays(const Schema& schema, const Terms& terms, Node& node) {
  ArrayShape& shape = node.arrays;
  size_t prefix = 0;
  for (const Term& term : terms) {
    prefix = std::max(prefix, schema[term.schema].rules.arrays.prefix.size());
  }
  shape.prefix.resize(prefix);
  for (const Term& term : terms) {
    const ArrayRules& rules = schema[term.schema].rules.arrays;
    shape.count_min = std::max(shape.count_min, rules.count_min);
    lower(shape.count_max, rules.count_max);
    for (size_t i = 0; i < prefix; ++i) {
      if (i < rules.prefix.size()) {
        shape.prefix[i].push_back({rules.prefix[i], term.judging});
      } else if (rules.items) {
        shape.prefix[i].push_back({*rules.items, term.judging});
      }
    }
    if (rules.items) shape.rest.push_back({*rules.items, term.judging});
  }
}

void join_objects(const Schema& schema, const Terms& terms, Node& node) {
  ObjectShape& shape = node.objects;
  for (const Term& term : terms) {
    const ObjectRules& rules = schema[term.schema].rules.objects;
    if (!says_something(rules)) continue;
    shape.sources.push_back({&rules, term.judging, term.wide});
    shape.closed = shape.closed || (rules.closed && !term.judging);
  }
  std::unordered_map<std::string_view, size_t> index;
  const auto member = [&](std::string_view name) -> Member& {
    const auto [found, is_new] = index.try_emplace(name, shape.members.size());
    if (is_new) shape.members.push_back({std::string(name)});
    return shape.members[found->second];
  };
  for (const ObjectShape::Source& source : shape.sources) {
    for (const auto& [name, value] : source.rules->properties)
      member(name);
  }
  for (const ObjectShape::Source& source : shape.sources) {
    for (const std::string& name : source.rules->required)
      member(name).required = true;
  }
}

}  // namespace

Result<void> join_rules(Conjunctions& conjunctions, const Schema& schema, const Terms& terms,
                        Node& node) {
  for (const Term& term : terms) {
    const Rules& rules = schema[term.schema].rules;
    node.types &= rules.types;
    join_strings(node.strings, rules.strings);
    if (!node.numbers.join(rules.numbers)) {
      return schema_error(
          schema[term.schema].pointer,
          "the multipleOf of several parts have no common multiple that is handled");
    }
    if (!rules.allowed) continue;
    if (!node.allowed) {
      node.allowed = rules.allowed;
      continue;
    }
    if (Result<void> go_on = conjunctions.check_give_up(); !go_on) return go_on;
    ValueSet(*rules.allowed).keep_common(*node.allowed);
  }
  if ((node.types & kArrayType) != 0) join_arrays(schema, terms, node);
  if ((node.types & kObjectType) != 0) join_objects(schema, terms, node);
  return {};
}

// --- values of a node ----------------------------------------------------------------------------

namespace {

bool type_allowed(Types types, const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return (types & kNullType) != 0;
    case json::kind::bool_:
      return (types & kBooleanType) != 0;
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_: {
      const auto number = Decimal::of(value);
      return number && (types & (number->is_integer() ? kIntegerType : kFractionType)) != 0;
    }
    case json::kind::string:
      return (types & kStringType) != 0;
    case json::kind::array:
      return (types & kArrayType) != 0;
    case json::kind::object:
      return (types & kObjectType) != 0;
  }
  return false;
}

bool length_allowed(const StringRules& rules, std::string_view text) {
  const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto length = std::ranges::count_if(text, is_first);
  return length >= static_cast<int64_t>(rules.length_min) &&
         (!rules.length_max || length <= static_cast<int64_t>(*rules.length_max));
}

Result<bool> value_holds(Conjunctions& conjunctions, NodeId id, const json::value& value);

Result<bool> array_holds(Conjunctions& conjunctions, const Node& node, const json::array& array) {
  const ArrayShape& shape = node.arrays;
  if (array.size() < shape.count_min) return false;
  if (shape.count_max && array.size() > *shape.count_max) return false;
  for (size_t i = 0; i < array.size(); ++i) {
    Result<NodeId> item = conjunctions.find(i < shape.prefix.size() ? shape.prefix[i] : shape.rest);
    if (!item) return item.error();
    Result<bool> held = value_holds(conjunctions, *item, array[i]);
    if (!held || !*held) return held;
  }
  return true;
}

Result<bool> object_holds(Conjunctions& conjunctions, const Node& node,
                          const json::object& object) {
  for (const Member& member : node.objects.members) {
    if (member.required && !object.contains(member.name)) return false;
  }
  for (const auto& [name, value] : object) {
    Result<NodeId> wanted = conjunctions.find_member(node, name);
    if (!wanted) return wanted.error();
    Result<bool> held = value_holds(conjunctions, *wanted, value);
    if (!held || !*held) return held;
  }
  return true;
}

// All rules but enum and const.
Result<bool> shape_holds(Conjunctions& conjunctions, const Node& node, const json::value& value) {
  if (!type_allowed(node.types, value)) return false;
  if (const auto number = Decimal::of(value)) return holds(node.numbers, *number);
  if (const json::string* text = value.if_string()) {
    if (!length_allowed(node.strings, *text)) return false;
    if (node.strings.patterns.empty() && node.strings.formats.empty()) return true;
    // Without lengths: they were looked at, and automata may stop short of a large maxLength.
    Result<const CharDfa*> texts = conjunctions.automata().texts(
        {.patterns = node.strings.patterns, .formats = node.strings.formats});
    if (!texts) return schema_error(node.pointer, texts.error().message);
    return (*texts)->contains(std::string_view(*text));
  }
  if (const json::array* array = value.if_array()) return array_holds(conjunctions, node, *array);
  if (const json::object* object = value.if_object())
    return object_holds(conjunctions, node, *object);
  return true;
}

Result<bool> value_holds(Conjunctions& conjunctions, NodeId id, const json::value& value) {
  const Node& node = conjunctions[id];
  switch (node.kind) {
    case Node::Kind::kNone:
      return false;
    case Node::Kind::kChoice:
      for (const NodeId choice : node.choices) {
        Result<bool> held = value_holds(conjunctions, choice, value);
        if (!held || *held) return held;
      }
      return false;
    case Node::Kind::kOpen:
      return schema_error(node.pointer,
                          "an enum with values for a schema that refers to itself is not handled; "
                          "leave out one of them");
    case Node::Kind::kShape:
      break;
  }
  if (Result<void> go_on = conjunctions.check_give_up(); !go_on) return go_on.error();
  if (node.allowed && !conjunctions.allowed_by(node).contains(value)) return false;
  return shape_holds(conjunctions, node, value);
}

}  // namespace

// --- types of which a shape has no value ---------------------------------------------------------

namespace {

constexpr size_t kShownMax = 60;

void remove_types(Node& node, Types types, std::string why) {
  if ((node.types & types) == 0) return;
  node.types &= static_cast<Types>(~types);
  if (node.why.empty()) node.why = fmt::format("at {}: {}", node.pointer, why);
}

Result<void> trim_allowed(Conjunctions& conjunctions, Node& node) {
  std::vector<const boost::json::value*> held;
  for (const boost::json::value* value : *node.allowed) {
    if (Result<void> go_on = conjunctions.check_give_up(); !go_on) return go_on;
    Result<bool> holds = shape_holds(conjunctions, node, *value);
    if (!holds) return holds.error();
    if (*holds) held.push_back(value);
  }
  if (held.empty()) {
    const std::string first =
        node.allowed->empty() ? "" : compact_json(*node.allowed->front()).substr(0, kShownMax);
    remove_types(node, kAllTypes,
                 first.empty() ? "enum and const leave no value"
                               : fmt::format("no value of enum or const follows the other rules, "
                                             "beginning with {}",
                                             first));
  }
  Types types = 0;
  for (const boost::json::value* value : held) {
    types |= value->is_null()     ? kNullType
             : value->is_bool()   ? kBooleanType
             : value->is_number() ? kNumberTypes
             : value->is_string() ? kStringType
             : value->is_array()  ? kArrayType
                                  : kObjectType;
  }
  node.types &= types;
  node.allowed = std::move(held);
  return {};
}

Result<void> trim_strings(Conjunctions& conjunctions, Node& node) {
  const StringRules& rules = node.strings;
  if (rules.length_max && *rules.length_max < rules.length_min) {
    remove_types(
        node, kStringType,
        fmt::format("minLength {} is more than maxLength {}", rules.length_min, *rules.length_max));
    return {};
  }
  if (rules.patterns.empty() && rules.formats.empty()) return {};
  Result<const CharDfa*> texts = conjunctions.automata().texts(rules);
  if (!texts) {
    return schema_error(node.pointer + (rules.patterns.empty() ? "/format" : "/pattern"),
                        texts.error().message);
  }
  if ((*texts)->empty()) {
    remove_types(node, kStringType, "no text follows its pattern, format and length together");
  }
  return {};
}

Result<void> trim_arrays(Conjunctions& conjunctions, Node& node) {
  ArrayShape& shape = node.arrays;
  const auto most = [&](size_t count) { return !shape.count_max || *shape.count_max > count; };
  std::string why;
  // Only what may have to be there is worked out now; recursion ends at what need not.
  for (size_t i = 0; i < shape.prefix.size() && i < shape.count_min; ++i) {
    Result<NodeId> item = conjunctions.find(shape.prefix[i]);
    if (!item) return item.error();
    if (conjunctions.possible(*item)) continue;
    if (most(i)) shape.count_max = static_cast<uint32_t>(i);
    why = conjunctions[*item].why;
    break;
  }
  if (shape.count_min > shape.prefix.size() && most(shape.prefix.size())) {
    Result<NodeId> item = conjunctions.find(shape.rest);
    if (!item) return item.error();
    if (!conjunctions.possible(*item)) {
      shape.count_max = static_cast<uint32_t>(shape.prefix.size());
      why = conjunctions[*item].why;
    }
  }
  if (shape.count_max && *shape.count_max < shape.count_min) {
    remove_types(node, kArrayType,
                 fmt::format("at least {} items are demanded, and there can be {} at most{}{}",
                             shape.count_min, *shape.count_max, why.empty() ? "" : ": ", why));
  }
  return {};
}

Result<void> trim_objects(Conjunctions& conjunctions, Node& node) {
  for (const Member& member : node.objects.members) {
    if (!member.required) continue;
    Result<NodeId> value = conjunctions.find_member(node, member.name);
    if (!value) return value.error();
    if (conjunctions.possible(*value)) continue;
    remove_types(node, kObjectType,
                 fmt::format("the required property {} can have no value: {}",
                             json_quoted(member.name), conjunctions[*value].why));
    return {};
  }
  return {};
}

}  // namespace

Result<void> remove_impossible_types(Conjunctions& conjunctions, Node& node) {
  if (node.types == 0) {
    node.why = fmt::format("at {}: no type is left that all its parts allow", node.pointer);
    return {};
  }
  if (node.allowed) return trim_allowed(conjunctions, node);
  const bool fractions = (node.types & kFractionType) != 0;
  if (fractions ? !any_number(node.numbers) : !any_integer(node.numbers)) {
    remove_types(node, kNumberTypes, "no number is within the bounds");
  }
  if ((node.types & kStringType) != 0) {
    if (Result<void> trimmed = trim_strings(conjunctions, node); !trimmed) return trimmed;
  }
  if ((node.types & kArrayType) != 0) {
    if (Result<void> trimmed = trim_arrays(conjunctions, node); !trimmed) return trimmed;
  }
  if ((node.types & kObjectType) != 0) return trim_objects(conjunctions, node);
  return {};
}

}  // namespace windrow::grammar
