#include "grammar/schema/conjunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "grammar/schema/schema_node.h"

namespace windrow::grammar {
namespace {

constexpr size_t kConjunctionNodesMax = 20'000;
constexpr size_t kMembersMax = 150'000;  // in all objects, with names that are excluded
constexpr size_t kConjunctionDepthMax = 400;
constexpr size_t kConjunctionSteps = 4;

char32_t conjunction_key(const Term& term) {
  return static_cast<char32_t>(term.schema.value() * 4 + (term.judging ? 1 : 0) +
                               (term.wide ? 2 : 0));
}

// The same place with less said about it.
Term judging(const Term& term) {
  return {term.schema, true, false};
}

Term wide(SchemaId schema) {
  return {schema, true, true};
}

}  // namespace

Conjunctions::Conjunctions(Schema& schema, const GiveUp& give_up)
    : schema_(schema),
      give_up_(give_up),
      negations_(schema),
      automata_(give_up),
      undeclared_(add_impossible(
          "it is not in properties, and where additionalProperties is absent nothing else is "
          "allowed")),
      forbidden_(add_impossible("not, oneOf, if or a dependency excludes it")) {}

NodeId Conjunctions::add_node(std::string pointer) {
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  nodes_.emplace_back().pointer = std::move(pointer);
  return id;
}

NodeId Conjunctions::add_impossible(std::string why) {
  const NodeId id = add_node("");
  nodes_.back().kind = Node::Kind::kNone;
  nodes_.back().why = std::move(why);
  return id;
}

Result<void> Conjunctions::check_give_up() {
  return checks_++ % kConjunctionSteps == 0 ? ask(give_up_) : Result<void>();
}

Result<Unfolded> Conjunctions::unfold(const Terms& terms) {
  Unfolded result;
  std::unordered_set<char32_t> seen;
  std::vector<SchemaId> excluded;  // what must not hold
  std::vector<Term> open(terms.rbegin(), terms.rend());
  while (!open.empty()) {
    const Term term = open.back();
    open.pop_back();
    if (!seen.insert(conjunction_key(term)).second) continue;
    const SchemaNode& node = schema_[term.schema];
    switch (node.kind) {
      case SchemaNode::Kind::kAlways:
        break;
      case SchemaNode::Kind::kAll:
        for (size_t i = node.parts.size(); i-- > 0;)
          open.push_back({node.parts[i], term.judging, term.wide});
        break;
      case SchemaNode::Kind::kJudged:
        open.push_back({node.parts.front(), true, term.wide});
        break;
      case SchemaNode::Kind::kNot: {
        if (!term.wide) excluded.push_back(node.parts.front());
        Result<SchemaId> negation = negations_.of(node.parts.front());
        if (!negation) return negation.error();
        open.push_back({*negation, true, term.wide});
        break;
      }
      case SchemaNode::Kind::kAny:
      case SchemaNode::Kind::kOne:
        if (node.parts.size() == 1) {
          open.push_back({node.parts.front(), term.judging, term.wide});
          break;
        }
        result.terms.push_back(term);
        break;
      case SchemaNode::Kind::kNever:
        if (!result.never) {
          result.never = term.schema;
          result.why = fmt::format("at {}: false allows no value", node.pointer);
        }
        break;
      case SchemaNode::Kind::kRules:
        result.terms.push_back(term);
        break;
    }
  }
  std::erase_if(result.terms, [&](const Term& term) {
    return (term.judging && seen.contains(conjunction_key({term.schema, false}))) ||
           (term.wide && seen.contains(conjunction_key(judging(term))));
  });
  for (const SchemaId id : excluded) {
    if (result.never) break;
    if (!seen.contains(conjunction_key({id, false})) && !seen.contains(conjunction_key({id, true})))
      continue;
    result.never = id;
    result.why = fmt::format("at {}: this must hold and must not hold", schema_[id].pointer);
  }
  return result;
}

Result<NodeId> Conjunctions::find(const Terms& terms) {
  Result<Unfolded> unfolded = unfold(terms);
  if (!unfolded) return unfolded.error();
  if (unfolded->never) unfolded->terms = {{*unfolded->never, true, true}};
  std::u32string key;
  for (const Term& term : unfolded->terms)
    key += conjunction_key(term);
  if (unfolded->never) key += static_cast<char32_t>(-1);  // not the node of that place by itself
  if (const auto found = known_.find(key); found != known_.end()) {
    if (const auto failed = failed_.find(found->second); failed != failed_.end())
      return failed->second;
    return found->second;
  }

  const std::string pointer =
      unfolded->terms.empty() ? "#" : schema_[unfolded->terms.front().schema].pointer;
  if (nodes_.size() > kConjunctionNodesMax || members_count_ > kMembersMax) {
    return schema_error(pointer,
                        "allOf, anyOf, oneOf, not, if and $ref have more combinations here than "
                        "are handled; make the branches fewer or the schema simpler");
  }
  if (depth_ > kConjunctionDepthMax) {
    return schema_error(pointer,
                        fmt::format("more than {} parts that must be there lie within each other",
                                    kConjunctionDepthMax));
  }
  if (Result<void> go_on = check_give_up(); !go_on) return go_on.error();

  const NodeId id = add_node(pointer);
  known_.emplace(key, id);
  if (unfolded->never) {
    nodes_.back().kind = Node::Kind::kNone;
    nodes_.back().why = unfolded->why;
    return id;
  }
  ++depth_;
  open_.emplace(id, unfolded->terms);
  Result<void> done = work_out(id, unfolded->terms);
  open_.erase(id);
  --depth_;
  if (!done) {
    nodes_[id.value()].kind = Node::Kind::kOpen;
    return failed_.emplace(id, done.error()).first->second;
  }
  const Node& node = (*this)[id];
  if (node.kind != Node::Kind::kChoice || node.choices.size() > 1) return id;
  return known_[key] = node.choices.front();  // where it was met before, it is a choice of one
}

Result<Terms> Conjunctions::terms_of(NodeId id) const {
  if (const auto failed = failed_.find(id); failed != failed_.end()) return failed->second;
  return open_.at(id);
}

Result<void> Conjunctions::work_out(NodeId id, const Terms& terms) {
  Node& node = nodes_[id.value()];
  Result<Narrowed> narrowed = narrow(*this, schema_, terms);
  if (!narrowed) return narrowed.error();
  if (!narrowed->why.empty()) {
    node.kind = Node::Kind::kNone;
    node.why = std::move(narrowed->why);
    return {};
  }
  if (narrowed->terms != terms) {
    Result<NodeId> same = find(narrowed->terms);
    if (!same) return same.error();
    node.kind = possible(*same) ? Node::Kind::kChoice : Node::Kind::kNone;
    node.why = (*this)[*same].why;
    node.choices = {*same};
    return {};
  }
  if (narrowed->choice) return branch(id, terms, *narrowed->choice);
  if (Result<void> joined = join_rules(*this, schema_, terms, node); !joined) return joined;
  members_count_ +=
      node.objects.members.size() + node.objects.forbidden.size() + node.arrays.prefix.size();
  node.kind = Node::Kind::kShape;  // for recursion that comes back here, until it has no value
  if (Result<void> done = remove_impossible_types(*this, node); !done) return done;
  if (node.types == 0) node.kind = Node::Kind::kNone;
  return {};
}

// One node for each branch of the choice, with all else that must hold.
Result<void> Conjunctions::branch(NodeId id, const Terms& terms, const Choice& choice) {
  const Term& chosen = terms[choice.at];
  std::vector<NodeId> branches;
  std::string why;
  if (schema_[chosen.schema].kind == SchemaNode::Kind::kOne && !chosen.wide) {
    Result<std::vector<NodeId>> found = exclusive_branches(terms, choice.at, why);
    if (!found) return found.error();
    branches = *std::move(found);
  } else {
    Terms one = terms;
    for (const SchemaId part : choice.parts) {
      one[choice.at] = {part, chosen.judging, chosen.wide};
      Result<NodeId> found = find(one);
      if (!found) return found.error();
      branches.push_back(*found);
    }
  }
  Node& node = nodes_[id.value()];
  for (const NodeId found : branches) {
    if (!possible(found)) {
      if (why.empty()) why = (*this)[found].why;
    } else if (std::ranges::find(node.choices, found) == node.choices.end()) {
      node.choices.push_back(found);
    }
  }
  node.why = std::move(why);
  node.kind = node.choices.empty() ? Node::Kind::kNone : Node::Kind::kChoice;
  return {};
}

// The branches of a oneOf, each with the negations of those others that may hold too. The others
// are read as the standard has them, so that all validators agree.
Result<std::vector<NodeId>> Conjunctions::exclusive_branches(const Terms& terms, size_t at,
                                                             std::string& why) {
  const SchemaNode& choice = schema_[terms[at].schema];
  std::vector<NodeId> alone;
  for (const SchemaId part : choice.parts) {
    Result<NodeId> judge = find({wide(part)});
    if (!judge) return judge.error();
    alone.push_back(*judge);
  }
  std::vector<NodeId> result;
  for (size_t i = 0; i < choice.parts.size(); ++i) {
    Terms one = terms;
    one[at].schema = choice.parts[i];
    const Terms without_negations = one;
    Result<NodeId> branch = find(one);
    if (!branch) return branch.error();
    std::optional<size_t> overlapped;
    for (size_t j = 0; j < choice.parts.size() && possible(*branch); ++j) {
      if (i == j) continue;
      if (Result<void> go_on = check_give_up(); !go_on) return go_on.error();
      Result<bool> apart = are_disjoint(*this, *branch, alone[j]);
      if (!apart) return apart.error();
      if (*apart) continue;
      Result<bool> overlap = may_overlap(without_negations, choice.parts[j]);
      if (!overlap) return overlap.error();
      if (!*overlap) continue;
      one.push_back({negations_.not_yet(choice.parts[j]), true});
      overlapped = j;
    }
    if (overlapped) {
      branch = find(one);
      if (!branch) return branch.error();
      if (!possible(*branch) && why.empty()) {
        why = fmt::format(
            "at {}: every value of branch {} of oneOf is one of another branch too (of branch {}, "
            "say), and exactly one may hold; use anyOf, or make them differ",
            choice.pointer, i, *overlapped);
      }
    }
    result.push_back(*branch);
  }
  return result;
}

// Whether the terms and the other place may have a value in common.
Result<bool> Conjunctions::may_overlap(Terms terms, SchemaId other) {
  terms.push_back(wide(other));
  Result<NodeId> both = find(terms);
  if (both) return possible(*both);
  if (both.error().kind == ErrorKind::kUnavailable) return both.error();
  return true;  // what cannot be worked out is decided by the negation
}

// Made on first use: few nodes have long lists, and those are used often.
const ValueSet& Conjunctions::allowed_by(const Node& node) {
  return allowed_.try_emplace(&node, *node.allowed).first->second;
}

// --- members of objects --------------------------------------------------------------------------

namespace {

bool is_forbidden(const ObjectShape& shape, std::string_view name) {
  return shape.forbidden.contains(name);
}

}  // namespace

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
  if (is_forbidden(shape, name)) return std::optional<Terms>();
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
        return schema_error(schema_[value].pointer, names.error());
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

Terms Conjunctions::negated(const Terms& terms) {
  if (terms.size() == 1) return {{negations_.not_yet(terms.front().schema), true}};
  std::vector<SchemaId> ids;
  for (const Term& term : terms)
    ids.push_back(term.schema);
  const auto [found, is_new] = negated_.try_emplace(ids);
  if (is_new) {
    std::vector<SchemaId> parts;
    for (const SchemaId id : ids)
      parts.push_back(negations_.not_yet(id));
    found->second = negations_.add(
        terms.empty() ? "#" : schema_[ids.front()].pointer,
        terms.empty() ? SchemaNode::Kind::kNever : SchemaNode::Kind::kAny, std::move(parts));
  }
  return {{found->second, true}};
}

Result<bool> Conjunctions::cannot_have(const ObjectShape& shape, std::string_view name) {
  Result<std::optional<Terms>> terms = member_terms(shape, name);
  if (!terms) return terms.error();
  if (!*terms) return true;
  Result<Unfolded> unfolded = unfold(**terms);
  if (!unfolded) return unfolded.error();
  return unfolded->never.has_value();
}

Result<NodeId> Conjunctions::find_member(const Node& node, std::string_view name) {
  Result<std::optional<Terms>> terms = member_terms(node.objects, name);
  if (!terms) return terms.error();
  if (!*terms) return is_forbidden(node.objects, name) ? forbidden_ : undeclared_;
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

}  // namespace windrow::grammar
