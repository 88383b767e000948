// Conjunctions: the rules of several places become one shape.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "grammar/schema/conjunctions.h"
#include "grammar/schema/read_schema.h"
#include "grammar/schema/value_set.h"

namespace windrow::grammar {
namespace {

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

}  // namespace

Result<void> Conjunctions::join(Node& node, const Terms& terms) {
  for (const Term& term : terms) {
    const Rules& rules = schema_[term.schema].rules;
    node.types &= rules.types;
    join_strings(node.strings, rules.strings);
    if (!node.numbers.join(rules.numbers)) {
      return schema_error(
          schema_[term.schema].pointer,
          "the multipleOf of several parts have no common multiple that is handled");
    }
    if (!rules.allowed) continue;
    if (!node.allowed) {
      node.allowed = rules.allowed;
      continue;
    }
    if (Result<void> go_on = ask_to_go_on(); !go_on) return go_on;
    ValueSet(*rules.allowed).keep_common(*node.allowed);
  }
  if ((node.types & kArrayType) != 0) join_arrays(node, terms);
  if ((node.types & kObjectType) != 0) join_objects(node, terms);
  members_count_ += node.objects.members.size() + node.arrays.prefix.size();
  return {};
}

void Conjunctions::join_arrays(Node& node, const Terms& terms) const {
  ArrayShape& shape = node.arrays;
  size_t prefix = 0;
  for (const Term& term : terms) {
    prefix = std::max(prefix, schema_[term.schema].rules.arrays.prefix.size());
  }
  shape.prefix.resize(prefix);
  for (const Term& term : terms) {
    const ArrayRules& rules = schema_[term.schema].rules.arrays;
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

void Conjunctions::join_objects(Node& node, const Terms& terms) const {
  ObjectShape& shape = node.objects;
  for (const Term& term : terms) {
    const ObjectRules& rules = schema_[term.schema].rules.objects;
    if (!says_something(rules)) continue;
    shape.sources.push_back({&rules, term.judging});
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

std::optional<SchemaId> Conjunctions::property(const ObjectRules& rules,
                                               std::string_view name) const {
  const auto [index, is_new] = properties_.try_emplace(&rules);
  if (is_new) {
    for (const auto& [own, value] : rules.properties)
      index->second.emplace(own, value);
  }
  const auto found = index->second.find(name);
  if (found == index->second.end()) return std::nullopt;
  return found->second;
}

Result<std::optional<Terms>> Conjunctions::member_terms(const ObjectShape& shape,
                                                        std::string_view name) {
  Terms terms;
  bool declared = !shape.closed;
  for (const ObjectShape::Source& source : shape.sources) {
    bool known = false;
    if (const auto value = property(*source.rules, name)) {
      terms.push_back({*value, source.judging});
      known = true;
    }
    for (const auto& [pattern, value] : source.rules->patterns) {
      Result<const CharDfa*> names = automata_.pattern(pattern);
      if (!names) {
        return schema_error(schema_[value].pointer, names.error().message);
      }
      if (!(*names)->contains(name)) continue;
      terms.push_back({value, source.judging});
      known = true;
    }
    if (known && !source.judging) declared = true;
    if (!known && source.rules->additional) {
      terms.push_back({*source.rules->additional, source.judging});
    }
  }
  if (!declared) return std::optional<Terms>();
  return std::optional(std::move(terms));
}

Result<NodeId> Conjunctions::find_member(const Node& node, std::string_view name) {
  Result<std::optional<Terms>> terms = member_terms(node.objects, name);
  if (!terms) return terms.error();
  if (!*terms) return undeclared_;
  return find(**terms);
}

std::optional<Terms> Conjunctions::undeclared(const ObjectShape& shape,
                                              const std::vector<std::string>& patterns,
                                              const std::vector<bool>& matched) const {
  Terms terms;
  bool declared = !shape.closed;
  for (const ObjectShape::Source& source : shape.sources) {
    bool known = false;
    for (const auto& [pattern, value] : source.rules->patterns) {
      const auto index = std::ranges::find(patterns, pattern) - patterns.begin();
      if (!matched[static_cast<size_t>(index)]) continue;
      terms.push_back({value, source.judging});
      known = true;
    }
    if (known && !source.judging) declared = true;
    if (!known && source.rules->additional) {
      terms.push_back({*source.rules->additional, source.judging});
    }
  }
  if (!declared) return std::nullopt;
  return terms;
}

}  // namespace windrow::grammar
