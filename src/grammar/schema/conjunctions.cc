#include "grammar/schema/conjunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "grammar/schema/schema_node.h"

namespace windrow::grammar {
namespace {

constexpr size_t kConjunctionNodesMax = 20'000;
constexpr size_t kMembersMax = 1'000'000;  // in all objects
constexpr size_t kConjunctionDepthMax = 400;
constexpr size_t kConjunctionSteps = 32;

char32_t conjunction_key(const Term& term) {
  return static_cast<char32_t>(term.schema.value() * 2 + (term.judging ? 1 : 0));
}

Term judging(SchemaId schema) {
  return {schema, true};
}

}  // namespace

Conjunctions::Conjunctions(Schema& schema, const GiveUp& give_up)
    : schema_(schema), give_up_(give_up), undeclared_(add_node("")) {
  nodes_.back().kind = Node::Kind::kNone;
  nodes_.back().why =
      "it is not in properties, and where additionalProperties is absent nothing else is allowed";
}

NodeId Conjunctions::add_node(std::string pointer) {
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  nodes_.emplace_back().pointer = std::move(pointer);
  return id;
}

Result<void> Conjunctions::check_give_up() {
  if (checks_++ % kConjunctionSteps == 0 && give_up_ && give_up_()) {
    return Error{ErrorKind::kUnavailable, "working out the schema took too long"};
  }
  return {};
}

Conjunctions::Expanded Conjunctions::expand(const Terms& terms) const {
  Expanded result;
  std::unordered_set<char32_t> seen;
  std::vector<Term> open(terms.rbegin(), terms.rend());
  while (!open.empty()) {
    const Term term = open.back();
    open.pop_back();
    if (!seen.insert(conjunction_key(term)).second) continue;
    const SchemaNode& node = schema_[term.schema];
    if (node.kind == SchemaNode::Kind::kAlways) continue;
    if (node.kind == SchemaNode::Kind::kNever && !result.never) result.never = term.schema;
    if (node.kind == SchemaNode::Kind::kAll) {
      for (size_t i = node.parts.size(); i-- > 0;)
        open.push_back({node.parts[i], term.judging});
      continue;
    }
    result.terms.push_back(term);
  }
  std::erase_if(result.terms, [&](const Term& term) {
    return term.judging && seen.contains(conjunction_key({term.schema, false}));
  });
  return result;
}

Result<NodeId> Conjunctions::find(const Terms& terms) {
  Expanded expanded = expand(terms);
  if (expanded.never) expanded.terms = {{*expanded.never, false}};
  std::u32string key;
  for (const Term& term : expanded.terms)
    key += conjunction_key(term);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;

  const std::string pointer =
      expanded.terms.empty() ? "#" : schema_[expanded.terms.front().schema].pointer;
  if (nodes_.size() > kConjunctionNodesMax || members_count_ > kMembersMax) {
    return schema_error(pointer,
                        "allOf, anyOf, oneOf and $ref have more combinations here than "
                        "are handled; make the branches fewer or the schema simpler");
  }
  if (depth_ > kConjunctionDepthMax) {
    return schema_error(pointer,
                        fmt::format("more than {} parts that must be there lie within each other",
                                    kConjunctionDepthMax));
  }
  if (Result<void> go_on = check_give_up(); !go_on) return go_on.error();

  const NodeId id = add_node(pointer);
  known_.emplace(std::move(key), id);
  if (expanded.never) {
    nodes_.back().kind = Node::Kind::kNone;
    nodes_.back().why = fmt::format("at {}: false allows no value", pointer);
    return id;
  }
  ++depth_;
  Result<void> done = work_out(id, expanded.terms);
  --depth_;
  if (!done) return done.error();
  return id;
}

Result<void> Conjunctions::work_out(NodeId id, const Terms& terms) {
  const auto chooses = [&](const Term& term) {
    const SchemaNode::Kind kind = schema_[term.schema].kind;
    return kind == SchemaNode::Kind::kAny || kind == SchemaNode::Kind::kOne;
  };
  const auto choice = std::ranges::find_if(terms, chooses);
  if (choice != terms.end()) {
    return branch(id, terms, static_cast<size_t>(choice - terms.begin()));
  }
  Node& node = nodes_[id.value()];
  if (Result<void> joined = join_rules(*this, schema_, terms, node); !joined) return joined;
  members_count_ += node.objects.members.size() + node.arrays.prefix.size();
  node.kind = Node::Kind::kShape;  // for recursion that comes back here, until it has no value
  if (Result<void> done = remove_impossible_types(*this, node); !done) return done;
  if (node.types == 0) node.kind = Node::Kind::kNone;
  return {};
}

// One node for each branch that the choice at terms[at] has, with all else that must hold.
Result<void> Conjunctions::branch(NodeId id, const Terms& terms, size_t at) {
  const SchemaNode& choice = schema_[terms[at].schema];
  Terms one = terms;
  std::vector<NodeId> branches;
  for (const SchemaId part : choice.parts) {
    one[at] = {part, terms[at].judging};
    Result<NodeId> found = find(one);
    if (!found) return found.error();
    branches.push_back(*found);
  }
  const bool probing = std::ranges::any_of(terms, &Term::judging);
  if (choice.kind == SchemaNode::Kind::kOne && !probing) {
    if (Result<void> apart = check_exclusive(terms, at, branches); !apart) return apart;
  }
  Node& node = nodes_[id.value()];
  for (const NodeId found : branches) {
    if (!possible(found)) {
      if (node.why.empty()) node.why = (*this)[found].why;
    } else if (std::ranges::find(node.choices, found) == node.choices.end()) {
      node.choices.push_back(found);
    }
  }
  node.kind = node.choices.empty() ? Node::Kind::kNone : Node::Kind::kChoice;
  return {};
}

// No value of one branch may be one of another. The other branch is read as the standard has it, so
// that all validators agree.
Result<void> Conjunctions::check_exclusive(const Terms& terms, size_t at,
                                           const std::vector<NodeId>& branches) {
  const SchemaNode& choice = schema_[terms[at].schema];
  std::vector<NodeId> alone;
  for (const SchemaId part : choice.parts) {
    Result<NodeId> judge = find({judging(part)});
    if (!judge) return judge.error();
    alone.push_back(*judge);
  }
  for (size_t i = 0; i < branches.size(); ++i) {
    if (!possible(branches[i])) continue;
    for (size_t j = 0; j < branches.size(); ++j) {
      if (i == j) continue;
      if (Result<void> go_on = check_give_up(); !go_on) return go_on;
      Result<bool> apart = are_disjoint(branches[i], alone[j]);
      if (!apart) return apart.error();
      if (*apart) continue;
      Terms both = terms;
      both[at] = {choice.parts[i], false};
      both.push_back(judging(choice.parts[j]));
      Result<NodeId> found = find(both);
      if (!found) return found.error();
      if (!possible(*found)) continue;
      return schema_error(
          choice.pointer,
          fmt::format("branches {} and {} of oneOf could both hold for one value, and exactly one "
                      "may; use anyOf, or make them differ: another type, or a required property "
                      "with another const",
                      std::min(i, j), std::max(i, j)));
    }
  }
  return {};
}

// Made on first use: few nodes have long lists, and those are used often.
const ValueSet& Conjunctions::allowed_by(const Node& node) {
  return allowed_.try_emplace(&node, *node.allowed).first->second;
}

// Whether they plainly have no value in common: other types, or another const of one property.
// Saves working out most pairs of branches.
Result<bool> Conjunctions::are_disjoint(NodeId left, NodeId right) {
  const Node& a = (*this)[left];
  const Node& b = (*this)[right];
  if (a.kind == Node::Kind::kNone || b.kind == Node::Kind::kNone) return true;
  if (a.kind != Node::Kind::kShape || b.kind != Node::Kind::kShape) return false;
  return are_shapes_disjoint(a, b);
}

Result<bool> Conjunctions::are_shapes_disjoint(const Node& left, const Node& right) {
  const auto values_apart = [&](const Node& a, const Node& b) {
    return a.allowed && b.allowed && !allowed_by(a).has_common(allowed_by(b));
  };
  const auto common = static_cast<Types>(left.types & right.types);
  if (common == 0 || values_apart(left, right)) return true;
  if (common != kObjectType) return false;
  for (const Member& member : left.objects.members) {
    if (!member.required) continue;
    if (Result<void> go_on = check_give_up(); !go_on) return go_on.error();
    const auto other = std::ranges::find(right.objects.members, member.name, &Member::name);
    if (other == right.objects.members.end() || !other->required) continue;
    Result<NodeId> a = find_member(left, member.name);
    if (!a) return a.error();
    Result<NodeId> b = find_member(right, member.name);
    if (!b) return b.error();
    const Node& one = (*this)[*a];
    const Node& two = (*this)[*b];
    if (one.kind != Node::Kind::kShape || two.kind != Node::Kind::kShape) continue;
    if ((one.types & two.types) == 0 || values_apart(one, two)) return true;
  }
  return false;
}

// --- members of objects --------------------------------------------------------------------------

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
      terms.push_back(source.term(*value));
      known = true;
    }
    for (const auto& [pattern, value] : source.rules->patterns) {
      Result<const CharDfa*> names = automata_.pattern(pattern);
      if (!names) {
        return schema_error(schema_[value].pointer, names.error().message);
      }
      if (!(*names)->contains(name)) continue;
      terms.push_back(source.term(value));
      known = true;
    }
    if (known && !source.judging) declared = true;
    if (!known && source.rules->additional) {
      terms.push_back(source.term(*source.rules->additional));
    }
  }
  if (!declared) return std::optional<Terms>();
  return std::optional(std::move(terms));
}

Result<Terms> Conjunctions::negated(const Terms& terms) {
  return schema_error(terms.empty() ? "#" : schema_[terms.front().schema].pointer,
                      "what is not contained cannot be worked out yet");
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
      terms.push_back(source.term(value));
      known = true;
    }
    if (known && !source.judging) declared = true;
    if (!known && source.rules->additional) {
      terms.push_back(source.term(*source.rules->additional));
    }
  }
  if (!declared) return std::nullopt;
  return terms;
}

// --- the node of a whole schema -----------------------------------------------------------------

namespace {

// Whether some value of the node ends when those of `ends` do.
bool can_end(Conjunctions& conjunctions, const Node& node, const std::vector<bool>& ends) {
  if (node.kind == Node::Kind::kChoice) {
    return std::ranges::any_of(node.choices, [&](NodeId id) { return ends[id.value()]; });
  }
  if (node.kind != Node::Kind::kShape) return false;
  if (node.allowed || (node.types & ~(kArrayType | kObjectType)) != 0) return true;
  const auto ended = [&](const Result<NodeId>& id) {
    return !id || id->value() >= ends.size() || ends[id->value()];
  };
  if ((node.types & kObjectType) != 0) {
    const bool all = std::ranges::all_of(node.objects.members, [&](const Member& member) {
      return !member.required || ended(conjunctions.find_member(node, member.name));
    });
    if (all) return true;
  }
  if ((node.types & kArrayType) == 0) return false;
  const ArrayShape& shape = node.arrays;
  for (size_t i = 0; i < shape.prefix.size() && i < shape.count_min; ++i) {
    if (!ended(conjunctions.find(shape.prefix[i]))) return false;
  }
  return shape.count_min <= shape.prefix.size() || ended(conjunctions.find(shape.rest));
}

// Where the values of a node that is possible come back to themselves, if all of them do: such a
// value never ends.
std::optional<std::string> find_endless(Conjunctions& conjunctions, NodeId root) {
  std::vector<bool> ends(conjunctions.nodes_count(), false);
  // In reverse: most nodes were found before those they need.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = ends.size(); i-- > 0;) {
      if (!conjunctions.check_give_up()) return std::nullopt;
      if (ends[i] || !can_end(conjunctions, conjunctions[NodeId(static_cast<uint32_t>(i))], ends))
        continue;
      ends[i] = true;
      changed = true;
    }
  }
  if (ends[root.value()]) return std::nullopt;
  // From the root along what does not end, to where it comes back to itself.
  std::vector<bool> seen(ends.size(), false);
  const Node* node = &conjunctions[root];
  while (true) {
    const auto endless = [&](const Result<NodeId>& id) {
      return id && id->value() < ends.size() && !ends[id->value()] && conjunctions.possible(*id);
    };
    std::optional<NodeId> next;
    for (const NodeId choice : node->choices) {
      if (!next && endless(choice)) next = choice;
    }
    for (const Member& member : node->objects.members) {
      if (next || !member.required) continue;
      if (const Result<NodeId> value = conjunctions.find_member(*node, member.name); endless(value))
        next = *value;
    }
    const ArrayShape& items = node->arrays;
    for (size_t i = 0; i < items.count_min && i <= items.prefix.size() && !next; ++i) {
      const Result<NodeId> item =
          conjunctions.find(i < items.prefix.size() ? items.prefix[i] : items.rest);
      if (endless(item)) next = *item;
    }
    if (!next || seen[next->value()]) break;
    seen[next->value()] = true;
    node = &conjunctions[*next];
  }
  return node->pointer;
}

}  // namespace

Result<NodeId> possible_root(Conjunctions& conjunctions, const Schema& schema) {
  Result<NodeId> root = conjunctions.find({{schema.root, false}});
  if (!root || conjunctions.possible(*root)) return root;
  return Error{ErrorKind::kInvalid,
               fmt::format("no value is valid under this schema: {}", conjunctions[*root].why)};
}

Result<void> check_ends(Conjunctions& conjunctions, NodeId root, const GiveUp& give_up) {
  if (const auto endless = find_endless(conjunctions, root)) {
    return schema_error(*endless,
                        "a value never ends: it must hold another one of its kind; take that out "
                        "of required or minItems, or allow null in its place");
  }
  if (give_up && give_up())
    return Error{ErrorKind::kUnavailable, "working out the schema took too long"};
  return {};
}

}  // namespace windrow::grammar
