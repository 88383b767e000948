// Conjunctions: what values must be where places of a schema hold together - an allOf, a $ref with
// siblings, a base beside its anyOf, a property that two parts declare. Each set of places is
// worked out once, when it is first asked for; since there are finitely many sets, recursion ends.
// What has no value is found out on the way, and so is whether the branches of a oneOf can be told
// apart: they can when one together with another has no value. Used by one thread at a time.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "grammar/schema/node.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/text_automata.h"
#include "grammar/schema/value_set.h"

namespace windrow::grammar {

class Conjunctions {
 public:
  // `schema` and `give_up` outlive this.
  Conjunctions(const Schema& schema, const GiveUp& give_up);

  // kInvalid: a pattern that is not handled, a oneOf whose branches cannot be told apart, too many
  // combinations. kUnavailable: `give_up` said so.
  Result<NodeId> find(const Terms& terms);

  // The value of a member with this name. Not of `kOpen` nodes.
  Result<NodeId> find_member(const Node& node, std::string_view name);

  const Node& operator[](NodeId id) const { return nodes_[id.value()]; }
  bool possible(NodeId id) const { return (*this)[id].kind != Node::Kind::kNone; }

  // Whether the value is one of the node's.
  Result<bool> holds(NodeId id, const boost::json::value& value);

  // Of a node that is possible: the place where its values come back to themselves, if all do.
  std::optional<std::string> endless(NodeId root);

  // What the value of a member must be that is not declared, when its name is in exactly those of
  // `patterns` that `matched` says. Nothing: there may be none.
  std::optional<Terms> undeclared(const ObjectShape& shape,
                                  const std::vector<std::string>& patterns,
                                  const std::vector<bool>& matched) const;

  TextAutomata& automata() { return automata_; }
  Result<void> ask_to_go_on();

 private:
  struct Expanded {
    Terms terms;
    std::optional<SchemaId> never;  // one of them is false
  };

  Expanded expand(const Terms& terms) const;
  NodeId add_node(std::string pointer);
  Result<void> work_out(NodeId id, const Terms& terms);
  Result<void> branch(NodeId id, const Terms& terms, size_t at);
  Result<void> check_exclusive(const Terms& terms, size_t at, const std::vector<NodeId>& branches);
  Result<bool> told_apart(NodeId left, NodeId right);
  Result<bool> shapes_apart(const Node& left, const Node& right);
  Result<void> join(Node& node, const Terms& terms);
  void join_arrays(Node& node, const Terms& terms) const;
  void join_objects(Node& node, const Terms& terms) const;
  Result<void> trim(Node& node);
  Result<void> trim_allowed(Node& node);
  Result<void> trim_strings(Node& node);
  Result<void> trim_arrays(Node& node);
  Result<void> trim_objects(Node& node);

  Result<std::optional<Terms>> member_terms(const ObjectShape& shape, std::string_view name);
  bool can_end(const Node& node, const std::vector<bool>& ends);
  std::optional<SchemaId> property(const ObjectRules& rules, std::string_view name) const;
  const ValueSet& allowed_by(const Node& node);  // of one with `allowed`
  Result<bool> shape_holds(const Node& node, const boost::json::value& value);
  Result<bool> array_holds(const Node& node, const boost::json::array& array);
  Result<bool> object_holds(const Node& node, const boost::json::object& object);

  const Schema& schema_;
  const GiveUp& give_up_;
  TextAutomata automata_;
  std::deque<Node> nodes_;
  std::unordered_map<std::u32string, NodeId> known_;
  NodeId undeclared_;  // a kNone node
  std::unordered_map<const Node*, ValueSet> allowed_;
  size_t members_count_ = 0;
  size_t asked_ = 0;
  size_t depth_ = 0;
  mutable std::unordered_map<const ObjectRules*, std::unordered_map<std::string_view, SchemaId>>
      properties_;
};

}  // namespace windrow::grammar
