// Conjunctions: whether a value of enum or const follows the other rules.
#include <algorithm>

#include "grammar/schema/conjunctions.h"
#include "grammar/schema/read_schema.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

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

}  // namespace

Result<bool> Conjunctions::holds(NodeId id, const json::value& value) {
  const Node& node = (*this)[id];
  switch (node.kind) {
    case Node::Kind::kNone:
      return false;
    case Node::Kind::kChoice:
      for (const NodeId choice : node.choices) {
        Result<bool> held = holds(choice, value);
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
  if (Result<void> go_on = ask_to_go_on(); !go_on) return go_on.error();
  if (node.allowed && !allowed_by(node).contains(value)) return false;
  return shape_holds(node, value);
}

// All rules but enum and const.
Result<bool> Conjunctions::shape_holds(const Node& node, const json::value& value) {
  if (!type_allowed(node.types, value)) return false;
  if (const auto number = Decimal::of(value)) return grammar::holds(node.numbers, *number);
  if (const json::string* text = value.if_string()) {
    if (!length_allowed(node.strings, *text)) return false;
    if (node.strings.patterns.empty() && node.strings.formats.empty()) return true;
    // Without lengths: they were looked at, and automata may stop short of a large maxLength.
    Result<const CharDfa*> texts =
        automata_.texts({.patterns = node.strings.patterns, .formats = node.strings.formats});
    if (!texts) return schema_error(node.pointer, texts.error().message);
    return (*texts)->contains(std::string_view(*text));
  }
  if (const json::array* array = value.if_array()) return array_holds(node, *array);
  if (const json::object* object = value.if_object()) return object_holds(node, *object);
  return true;
}

Result<bool> Conjunctions::array_holds(const Node& node, const json::array& array) {
  const ArrayShape& shape = node.arrays;
  if (array.size() < shape.count_min) return false;
  if (shape.count_max && array.size() > *shape.count_max) return false;
  for (size_t i = 0; i < array.size(); ++i) {
    Result<NodeId> item = find(i < shape.prefix.size() ? shape.prefix[i] : shape.rest);
    if (!item) return item.error();
    Result<bool> held = holds(*item, array[i]);
    if (!held || !*held) return held;
  }
  return true;
}

Result<bool> Conjunctions::object_holds(const Node& node, const json::object& object) {
  for (const Member& member : node.objects.members) {
    if (member.required && !object.contains(member.name)) return false;
  }
  for (const auto& [name, value] : object) {
    Result<NodeId> wanted = find_member(node, name);
    if (!wanted) return wanted.error();
    Result<bool> held = holds(*wanted, value);
    if (!held || !*held) return held;
  }
  return true;
}

}  // namespace windrow::grammar
