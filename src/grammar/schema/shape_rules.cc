#include "grammar/schema/conjunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "grammar/schema/json_values.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

constexpr size_t kObjectMembersMax = 50'000;

// --- joining -------------------------------------------------------------------------------------

void add_new(std::vector<std::string>& all, const std::vector<std::string>& more) {
  if (more.empty()) return;
  all.reserve(all.size() + more.size());
  std::unordered_set<std::string_view> known(all.begin(), all.end());
  for (const std::string& one : more) {
    if (known.contains(one)) continue;
    known.insert(all.emplace_back(one));
  }
}

void lower(std::optional<uint32_t>& bound, const std::optional<uint32_t>& other) {
  if (other) bound = std::min(bound.value_or(*other), *other);
}

void join_strings(StringRules& all, const StringRules& more, bool wide) {
  all.length_min = std::max(all.length_min, more.length_min);
  lower(all.length_max, more.length_max);
  add_new(all.patterns, more.patterns);
  add_new(all.patterns_not, more.patterns_not);
  add_new(all.denied, more.denied);
  add_new(wide ? all.formats_wide : all.formats, more.formats);
  add_new(wide ? all.formats_not_wide : all.formats_not, more.formats_not);
}

bool has_values(const ObjectRules& rules) {
  return rules.closed || rules.additional || !rules.properties.empty() || !rules.patterns.empty();
}

void remove_types(Node& node, Types types, std::string why) {
  if ((node.types & types) == 0) return;
  node.types &= static_cast<Types>(~types);
  if (node.why.empty()) node.why = fmt::format("at {}: {}", node.pointer, why);
}

void join_contains(const Schema& schema, const ContainsRule& rule, const Term& term,
                   ArrayShape& shape) {
  if (schema[rule.schema].kind == SchemaNode::Kind::kAlways) {
    if (rule.min > 0) shape.count_min = std::max(shape.count_min, rule.from + rule.min);
    if (rule.max) lower(shape.count_max, rule.from + *rule.max);
    return;
  }
  // As the standard reads it, as is propertyNames.
  ContainsShape joined{{{rule.schema, true, term.wide}}, rule.min, rule.max, rule.from};
  const auto same = std::ranges::find_if(shape.contains, [&](const ContainsShape& other) {
    return other.item == joined.item && other.from == joined.from;
  });
  if (same == shape.contains.end()) {
    shape.contains.push_back(std::move(joined));
    return;
  }
  same->min = std::max(same->min, joined.min);
  lower(same->max, joined.max);
}

void join_arrays(const Schema& schema, const Terms& terms, Node& node) {
  ArrayShape& shape = node.arrays;
  size_t prefix = 0;
  for (const Term& term : terms) {
    prefix = std::max(prefix, schema[term.schema].rules.arrays->prefix.size());
  }
  shape.prefix.resize(prefix);
  for (const Term& term : terms) {
    const ArrayRules& rules = schema[term.schema].rules.arrays;
    shape.count_min = std::max(shape.count_min, rules.count_min);
    lower(shape.count_max, rules.count_max);
    for (size_t i = 0; i < prefix; ++i) {
      if (i < rules.prefix.size()) {
        shape.prefix[i].push_back({rules.prefix[i], term.judging, term.wide});
      } else if (rules.items) {
        shape.prefix[i].push_back({*rules.items, term.judging, term.wide});
      }
    }
    if (rules.items) shape.rest.push_back({*rules.items, term.judging, term.wide});
    for (const ContainsRule& rule : rules.contains)
      join_contains(schema, rule, term, shape);
    shape.unique = shape.unique || rules.unique;
    shape.repeated = shape.repeated || (rules.repeated && !term.wide);
  }
}

// Takes the forbidden members away. Without objects, if one of them is required.
void remove_forbidden(Node& node) {
  ObjectShape& shape = node.objects;
  if (shape.forbidden.empty()) return;
  std::erase_if(shape.members, [&](const Member& member) {
    const bool forbidden = shape.forbidden.contains(member.name);
    if (forbidden && member.required) {
      remove_types(node, kObjectType,
                   fmt::format("the property {} is required, and excluded by not, oneOf, if or a "
                               "dependency",
                               json_quoted(member.name)));
    }
    return forbidden;
  });
}

// The names of members, first those that have values, in their order.
Result<void> join_members(Conjunctions& conjunctions, const Schema& schema, const Terms& terms,
                          Node& node) {
  ObjectShape& shape = node.objects;
  std::unordered_map<std::string_view, size_t> index;
  const auto member = [&](std::string_view name) -> Member& {
    const auto [found, is_new] = index.try_emplace(name, shape.members.size());
    if (is_new) shape.members.push_back({std::string(name)});
    return shape.members[found->second];
  };
  const auto check = [&]() -> Result<void> {
    if (shape.members.size() <= kObjectMembersMax) return conjunctions.check_give_up();
    return schema_error(node.pointer,
                        fmt::format("the parts that hold together for an object declare more than "
                                    "{} members; make them fewer",
                                    kObjectMembersMax));
  };
  for (const ObjectShape::Source& source : shape.sources) {
    for (const auto& [name, value] : source.rules->properties)
      member(name);
    if (Result<void> go_on = check(); !go_on) return go_on;
  }
  for (const Term& term : terms) {
    const ObjectRules& rules = schema[term.schema].rules.objects;
    for (const std::string& name : rules.required)
      member(name).required = true;
    shape.forbidden.insert(rules.forbidden.begin(), rules.forbidden.end());
    if (Result<void> go_on = check(); !go_on) return go_on;
  }
  remove_forbidden(node);
  return {};
}

Result<void> join_objects(Conjunctions& conjunctions, const Schema& schema, const Terms& terms,
                          Node& node) {
  ObjectShape& shape = node.objects;
  for (const Term& term : terms) {
    const ObjectRules& rules = schema[term.schema].rules.objects;
    if (!has_values(rules)) continue;
    shape.sources.push_back({&rules, term.judging, term.wide});
    shape.closed = shape.closed || (rules.closed && !term.judging);
  }
  if (Result<void> joined = join_members(conjunctions, schema, terms, node); !joined) return joined;
  for (const Term& term : terms) {
    const ObjectRules& rules = schema[term.schema].rules.objects;
    for (const SchemaId name : rules.names)
      shape.names.push_back({name, true, term.wide});
    for (const SomeMember& some : rules.some)
      shape.some.push_back({&some, term.judging, term.wide});
    shape.count_min = std::max(shape.count_min, rules.count_min);
    lower(shape.count_max, rules.count_max);
  }
  return {};
}

}  // namespace

Result<void> join_rules(Conjunctions& conjunctions, const Schema& schema, const Terms& terms,
                        Node& node) {
  for (const Term& term : terms) {
    if (Result<void> go_on = conjunctions.check_give_up(); !go_on) return go_on;
    const Rules& rules = schema[term.schema].rules;
    node.types &= rules.types;
    join_strings(node.strings, rules.strings, term.wide);
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
    ValueSet(*rules.allowed).keep_common(*node.allowed);
  }
  // A fraction is a number that is no multiple of one.
  if ((node.types & kNumberTypes) == kFractionType) {
    NumberRules fractions;
    fractions.multiples_not = {Decimal(1)};
    node.numbers.join(fractions);
  }
  if ((node.types & kArrayType) != 0) join_arrays(schema, terms, node);
  if ((node.types & kObjectType) == 0) return {};
  return join_objects(conjunctions, schema, terms, node);
}

// --- types of which a shape has no value ---------------------------------------------------------

namespace {

constexpr size_t kShownMax = 60;

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
  if (rules.only_lengths()) return {};
  Result<const CountedTexts*> texts = conjunctions.automata().texts(rules);
  if (!texts) {
    const std::string_view keyword = !rules.patterns.empty()  ? "/pattern"
                                     : !rules.formats.empty() ? "/format"
                                                              : "";
    return schema_error(fmt::format("{}{}", node.pointer, keyword), texts.error());
  }
  if ((*texts)->empty()) {
    remove_types(node, kStringType, "no text follows its patterns, formats and lengths together");
  }
  return {};
}

// How many items may be what `rule` counts, up to the least number; the demands on them joined.
Result<uint32_t> countable_items(Conjunctions& conjunctions, const ArrayShape& shape,
                                 const ContainsShape& rule, std::string& why) {
  const auto joint = [&](const Terms& item) -> Result<bool> {
    Terms both = item;
    both.insert(both.end(), rule.item.begin(), rule.item.end());
    Result<NodeId> found = conjunctions.find(both);
    if (!found) return found.error();
    if (!conjunctions.possible(*found)) why = conjunctions[*found].why;
    return conjunctions.possible(*found);
  };
  const auto most = static_cast<size_t>(shape.count_max.value_or(UINT32_MAX));
  const auto prefix = std::min(shape.prefix.size(), most);
  const auto behind = std::max(prefix, std::min<size_t>(rule.from, most));
  if (most > behind) {
    Result<bool> counts = joint(shape.rest);
    if (!counts) return counts.error();
    if (*counts && most - behind >= rule.min) return rule.min;
  }
  uint32_t count = 0;
  for (size_t i = rule.from; i < prefix && count < rule.min; ++i) {
    Result<bool> counts = joint(shape.prefix[i]);
    if (!counts) return counts.error();
    if (*counts) ++count;
  }
  if (most <= behind) return count;
  Result<bool> counts = joint(shape.rest);
  if (!counts) return counts.error();
  if (*counts) count += static_cast<uint32_t>(std::min<size_t>(most - behind, rule.min));
  return std::min(count, rule.min);
}

Result<void> trim_contains(Conjunctions& conjunctions, Node& node) {
  ArrayShape& shape = node.arrays;
  for (const ContainsShape& rule : shape.contains) {
    if (rule.max && *rule.max < rule.min) {
      remove_types(node, kArrayType,
                   fmt::format("minContains {} is more than maxContains {}", rule.min, *rule.max));
    }
    if (rule.min == 0) continue;
    shape.count_min = std::max(shape.count_min, rule.from + rule.min);
    std::string why;
    Result<uint32_t> count = countable_items(conjunctions, shape, rule, why);
    if (!count) return count.error();
    if (*count >= rule.min) continue;
    remove_types(node, kArrayType,
                 fmt::format("at least {} items as contains wants them are demanded, and there can "
                             "be {} at most{}{}",
                             rule.min, *count, why.empty() ? "" : ": ", why));
  }
  return {};
}

Result<void> trim_arrays(Conjunctions& conjunctions, Node& node) {
  ArrayShape& shape = node.arrays;
  if (shape.repeated && shape.unique) {
    remove_types(node, kArrayType, "items are to be unique and not unique");
    return {};
  }
  if (Result<void> trimmed = trim_contains(conjunctions, node); !trimmed) return trimmed;
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
  if (shape.repeated && (node.types & kArrayType) != 0) {
    return schema_error(node.pointer,
                        "that two items are equal cannot be enforced; take uniqueItems out of not, "
                        "if and oneOf");
  }
  return {};
}

// Takes away the members whose names propertyNames does not allow.
Result<void> trim_names(Conjunctions& conjunctions, Node& node) {
  ObjectShape& shape = node.objects;
  if (shape.names.empty() || shape.members.empty()) return {};
  Result<NodeId> names = conjunctions.find(shape.names);
  if (!names) return names.error();
  for (const Member& member : shape.members) {
    if (Result<void> go_on = conjunctions.check_give_up(); !go_on) return go_on;
    Result<bool> held =
        value_holds(conjunctions, *names, boost::json::value(std::string_view(member.name)));
    if (!held) return held.error();
    if (*held) continue;
    shape.forbidden.insert(member.name);
    if (!member.required) continue;
    remove_types(node, kObjectType,
                 fmt::format("propertyNames does not allow the required property {}",
                             json_quoted(member.name)));
  }
  remove_forbidden(node);
  return {};
}

// The terms of undeclared properties; nothing if there plainly are none. Only where no
// patternProperties decide about them.
Result<std::optional<Terms>> undeclared_terms(Conjunctions& conjunctions,
                                              const ObjectShape& shape) {
  auto terms = conjunctions.undeclared(shape, {}, {});
  if (!terms) return terms;
  Result<Unfolded> unfolded = conjunctions.unfold(*terms);
  if (!unfolded) return unfolded.error();
  if (unfolded->never) terms.reset();
  return terms;
}

bool has_patterns(const ObjectShape& shape) {
  return std::ranges::any_of(shape.sources, [](const ObjectShape::Source& source) {
    return !source.rules->patterns.empty();
  });
}

// Whether there can be a member as it is demanded.
Result<bool> some_possible(Conjunctions& conjunctions, const ObjectShape& shape,
                           const SomeMemberShape& some) {
  const auto joint = [&](Terms terms) -> Result<bool> {
    if (some.rule->value) terms.push_back(some.term(*some.rule->value));
    Result<NodeId> found = conjunctions.find(terms);
    if (!found) return found.error();
    return conjunctions.possible(*found);
  };
  if (has_patterns(shape)) return true;
  Result<std::optional<Terms>> undeclared = undeclared_terms(conjunctions, shape);
  if (!undeclared) return undeclared.error();
  if (*undeclared) {
    Result<bool> possible = joint(**undeclared);
    if (!possible || *possible) return possible;
  }
  for (const Member& member : shape.members) {
    Result<bool> fits = name_fits(conjunctions, some, member.name);
    if (!fits) return fits;
    if (!*fits) continue;
    Result<std::optional<Terms>> terms = conjunctions.member_terms(shape, member.name);
    if (!terms) return terms.error();
    if (!*terms) continue;
    Result<bool> possible = joint(**terms);
    if (!possible || *possible) return possible;
  }
  return false;
}

Result<void> trim_counts(Conjunctions& conjunctions, Node& node) {
  const ObjectShape& shape = node.objects;
  const auto required =
      static_cast<size_t>(std::ranges::count_if(shape.members, &Member::required));
  if (shape.count_max && *shape.count_max < std::max<size_t>(required, shape.count_min)) {
    remove_types(node, kObjectType,
                 fmt::format("at least {} properties are demanded, and maxProperties is {}",
                             std::max<size_t>(required, shape.count_min), *shape.count_max));
  }
  if (shape.count_min <= shape.members.size() || has_patterns(shape)) return {};
  Result<std::optional<Terms>> undeclared = undeclared_terms(conjunctions, shape);
  if (!undeclared) return undeclared.error();
  if (!*undeclared) {
    remove_types(node, kObjectType,
                 fmt::format("at least {} properties are demanded, and only {} are allowed",
                             shape.count_min, shape.members.size()));
  }
  return {};
}

Result<void> trim_objects(Conjunctions& conjunctions, Node& node) {
  if (Result<void> trimmed = trim_names(conjunctions, node); !trimmed) return trimmed;
  if (Result<void> trimmed = trim_counts(conjunctions, node); !trimmed) return trimmed;
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
  for (const SomeMemberShape& some : node.objects.some) {
    Result<bool> possible = some_possible(conjunctions, node.objects, some);
    if (!possible) return possible.error();
    if (*possible) continue;
    remove_types(node, kObjectType, "no property can be as another part demands one");
    return {};
  }
  return {};
}

}  // namespace

Result<void> remove_impossible_types(Conjunctions& conjunctions, Node& node) {
  if (node.types == 0) {
    if (node.why.empty())
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
