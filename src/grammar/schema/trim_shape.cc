// Conjunctions: types of which a shape has no value are taken out of it, with the reason.
#include <fmt/format.h>

#include <algorithm>

#include "grammar/schema/conjunctions.h"
#include "grammar/schema/json_values.h"
#include "grammar/schema/read_schema.h"

namespace windrow::grammar {
namespace {

constexpr size_t kShownMax = 60;

void take_out(Node& node, Types types, std::string why) {
  if ((node.types & types) == 0) return;
  node.types &= static_cast<Types>(~types);
  if (node.why.empty()) node.why = fmt::format("at {}: {}", node.pointer, why);
}

}  // namespace

Result<void> Conjunctions::trim(Node& node) {
  if (node.types == 0) {
    node.why = fmt::format("at {}: no type is left that all its parts allow", node.pointer);
    return {};
  }
  if (node.allowed) return trim_allowed(node);
  const bool fractions = (node.types & kFractionType) != 0;
  if (fractions ? !any_number(node.numbers) : !any_integer(node.numbers)) {
    take_out(node, kNumberTypes, "no number is within the bounds");
  }
  if ((node.types & kStringType) != 0) {
    if (Result<void> trimmed = trim_strings(node); !trimmed) return trimmed;
  }
  if ((node.types & kArrayType) != 0) {
    if (Result<void> trimmed = trim_arrays(node); !trimmed) return trimmed;
  }
  if ((node.types & kObjectType) != 0) return trim_objects(node);
  return {};
}

Result<void> Conjunctions::trim_allowed(Node& node) {
  std::vector<const boost::json::value*> held;
  for (const boost::json::value* value : *node.allowed) {
    if (Result<void> go_on = ask_to_go_on(); !go_on) return go_on;
    Result<bool> holds = shape_holds(node, *value);
    if (!holds) return holds.error();
    if (*holds) held.push_back(value);
  }
  if (held.empty()) {
    const std::string first =
        node.allowed->empty() ? "" : compact_json(*node.allowed->front()).substr(0, kShownMax);
    take_out(node, kAllTypes,
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

Result<void> Conjunctions::trim_strings(Node& node) {
  const StringRules& rules = node.strings;
  if (rules.length_max && *rules.length_max < rules.length_min) {
    take_out(
        node, kStringType,
        fmt::format("minLength {} is more than maxLength {}", rules.length_min, *rules.length_max));
    return {};
  }
  if (rules.patterns.empty() && rules.formats.empty()) return {};
  Result<const CharDfa*> texts = automata_.texts(rules);
  if (!texts) {
    return schema_error(node.pointer + (rules.patterns.empty() ? "/format" : "/pattern"),
                        texts.error().message);
  }
  if ((*texts)->empty()) {
    take_out(node, kStringType, "no text follows its pattern, format and length together");
  }
  return {};
}

Result<void> Conjunctions::trim_arrays(Node& node) {
  ArrayShape& shape = node.arrays;
  const auto most = [&](size_t count) { return !shape.count_max || *shape.count_max > count; };
  std::string why;
  // Only what may have to be there is worked out now; recursion ends at what need not.
  for (size_t i = 0; i < shape.prefix.size() && i < shape.count_min; ++i) {
    Result<NodeId> item = find(shape.prefix[i]);
    if (!item) return item.error();
    if (possible(*item)) continue;
    if (most(i)) shape.count_max = static_cast<uint32_t>(i);
    why = (*this)[*item].why;
    break;
  }
  if (shape.count_min > shape.prefix.size() && most(shape.prefix.size())) {
    Result<NodeId> item = find(shape.rest);
    if (!item) return item.error();
    if (!possible(*item)) {
      shape.count_max = static_cast<uint32_t>(shape.prefix.size());
      why = (*this)[*item].why;
    }
  }
  if (shape.count_max && *shape.count_max < shape.count_min) {
    take_out(node, kArrayType,
             fmt::format("at least {} items are demanded, and there can be {} at most{}{}",
                         shape.count_min, *shape.count_max, why.empty() ? "" : ": ", why));
  }
  return {};
}

Result<void> Conjunctions::trim_objects(Node& node) {
  for (const Member& member : node.objects.members) {
    if (!member.required) continue;
    Result<NodeId> value = find_member(node, member.name);
    if (!value) return value.error();
    if (possible(*value)) continue;
    take_out(node, kObjectType,
             fmt::format("the required property {} can have no value: {}", json_quoted(member.name),
                         (*this)[*value].why));
    return {};
  }
  return {};
}

}  // namespace windrow::grammar
