#include <algorithm>
#include <string>

#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {

namespace json = boost::json;

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

Result<bool> terms_hold(Conjunctions& conjunctions, const Terms& terms, const json::value& value) {
  Result<NodeId> node = conjunctions.find(terms);
  if (!node) return node.error();
  return value_holds(conjunctions, *node, value);
}

Result<bool> contains_holds(Conjunctions& conjunctions, const ContainsShape& rule,
                            const json::array& array) {
  uint32_t count = 0;
  for (size_t i = rule.from; i < array.size(); ++i) {
    Result<bool> held = terms_hold(conjunctions, rule.item, array[i]);
    if (!held) return held;
    if (*held) ++count;
  }
  return count >= rule.min && (!rule.max || count <= *rule.max);
}

Result<bool> array_holds(Conjunctions& conjunctions, const Node& node, const json::array& array) {
  const ArrayShape& shape = node.arrays;
  if (array.size() < shape.count_min) return false;
  if (shape.count_max && array.size() > *shape.count_max) return false;
  if ((shape.unique || shape.repeated) && has_equal_items(array) != shape.repeated) return false;
  for (size_t i = 0; i < array.size(); ++i) {
    Result<bool> held =
        terms_hold(conjunctions, i < shape.prefix.size() ? shape.prefix[i] : shape.rest, array[i]);
    if (!held || !*held) return held;
  }
  for (const ContainsShape& rule : shape.contains) {
    Result<bool> held = contains_holds(conjunctions, rule, array);
    if (!held || !*held) return held;
  }
  return true;
}

Result<bool> some_holds(Conjunctions& conjunctions, const SomeMemberShape& some,
                        const json::object& object) {
  for (const auto& [name, value] : object) {
    Result<bool> fits = name_fits(conjunctions, some, name);
    if (!fits) return fits;
    if (!*fits) continue;
    if (!some.rule->value) return true;
    Result<bool> held = terms_hold(conjunctions, {some.term(*some.rule->value)}, value);
    if (!held || *held) return held;
  }
  return false;
}

Result<bool> object_holds(Conjunctions& conjunctions, const Node& node,
                          const json::object& object) {
  const ObjectShape& shape = node.objects;
  if (object.size() < shape.count_min) return false;
  if (shape.count_max && object.size() > *shape.count_max) return false;
  for (const Member& member : shape.members) {
    if (member.required && !object.contains(member.name)) return false;
  }
  for (const auto& [name, value] : object) {
    Result<NodeId> wanted = conjunctions.find_member(node, name);
    if (!wanted) return wanted.error();
    Result<bool> held = value_holds(conjunctions, *wanted, value);
    if (!held || !*held) return held;
    if (shape.names.empty()) continue;
    held = terms_hold(conjunctions, shape.names, json::value(name));
    if (!held || !*held) return held;
  }
  for (const SomeMemberShape& some : shape.some) {
    Result<bool> held = some_holds(conjunctions, some, object);
    if (!held || !*held) return held;
  }
  return true;
}

}  // namespace

Result<bool> shape_holds(Conjunctions& conjunctions, const Node& node, const json::value& value) {
  if (!type_allowed(node.types, value)) return false;
  if (const auto number = Decimal::of(value)) return holds(node.numbers, *number);
  if (const json::string* text = value.if_string()) {
    if (!length_allowed(node.strings, *text)) return false;
    if (node.strings.only_lengths()) return true;
    // Without lengths: they were looked at.
    StringRules rules = node.strings;
    rules.length_min = 0;
    rules.length_max.reset();
    Result<const CountedTexts*> texts = conjunctions.automata().texts(rules);
    if (!texts) return schema_error(node.pointer, texts.error());
    return (*texts)->contains(std::string_view(*text));
  }
  if (const json::array* array = value.if_array()) return array_holds(conjunctions, node, *array);
  if (const json::object* object = value.if_object())
    return object_holds(conjunctions, node, *object);
  return true;
}

namespace {

// The same as value_holds, without nodes for the terms themselves: one that has values in an enum
// may be asked about itself while it is worked out.
Result<bool> value_holds_now(Conjunctions& conjunctions, const Terms& terms,
                             const json::value& value) {
  if (Result<void> go_on = conjunctions.check_give_up(); !go_on) return go_on.error();
  Result<Unfolded> unfolded = conjunctions.unfold(terms);
  if (!unfolded) return unfolded.error();
  if (unfolded->never) return false;
  const Schema& schema = conjunctions.schema();
  const auto choice = std::ranges::find_if(unfolded->terms, [&](const Term& term) {
    return schema[term.schema].kind != SchemaNode::Kind::kRules;
  });
  if (choice == unfolded->terms.end()) {
    Node shape;
    if (Result<void> done = join_rules(conjunctions, schema, unfolded->terms, shape); !done)
      return done.error();
    if (shape.allowed && !ValueSet(*shape.allowed).contains(value)) return false;
    return shape_holds(conjunctions, shape, value);
  }
  const SchemaNode& chosen = schema[choice->schema];
  const bool exclusive = chosen.kind == SchemaNode::Kind::kOne && !choice->wide;
  for (const SchemaId part : chosen.parts) {
    choice->schema = part;
    Result<bool> held = value_holds_now(conjunctions, unfolded->terms, value);
    if (!held) return held;
    if (!*held) continue;
    for (const SchemaId other : chosen.parts) {
      if (!exclusive || other == part) continue;
      Result<bool> both = value_holds_now(conjunctions, {{other, true, true}}, value);
      if (!both) return both;
      if (*both) return false;
    }
    return true;
  }
  return false;
}

}  // namespace

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
    case Node::Kind::kOpen: {
      Result<Terms> terms = conjunctions.terms_of(id);
      if (!terms) return terms.error();
      return value_holds_now(conjunctions, *terms, value);
    }
    case Node::Kind::kShape:
      break;
  }
  if (Result<void> go_on = conjunctions.check_give_up(); !go_on) return go_on.error();
  if (node.allowed && !conjunctions.allowed_by(node).contains(value)) return false;
  return shape_holds(conjunctions, node, value);
}

Result<bool> name_fits(Conjunctions& conjunctions, const SomeMemberShape& some,
                       std::string_view name) {
  const SomeMember& rule = *some.rule;
  const auto matches = [&](const std::string& pattern) -> Result<bool> {
    Result<const CharDfa*> texts = conjunctions.automata().pattern(pattern);
    if (!texts) return texts.error();
    return (*texts)->contains(name);
  };
  if (std::ranges::find(rule.names_not, name) != rule.names_not.end()) return false;
  for (const std::string& pattern : rule.patterns_not) {
    Result<bool> matched = matches(pattern);
    if (!matched) return matched;
    if (*matched) return false;
  }
  if (rule.pattern) {
    Result<bool> matched = matches(*rule.pattern);
    if (!matched || !*matched) return matched;
  }
  if (!rule.name) return true;
  return terms_hold(conjunctions, {some.term(*rule.name)}, json::value(name));
}

}  // namespace windrow::grammar
