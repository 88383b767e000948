// Conjunctions: which values fulfil several places of a schema at once: an allOf, a $ref with
// siblings, a base beside its anyOf, a property that two parts declare. Each set of places is
// worked out once, on first use; there are finitely many sets, so recursion ends. This also finds
// out which sets have no value, and with that which branches of a oneOf exclude each other: those
// that have no value together. A branch that does not exclude another one holds together with its
// negation. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "grammar/schema/json_values.h"
#include "grammar/schema/negation.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/schema_node.h"
#include "grammar/schema/text_automata.h"

namespace windrow::grammar {

// A place of the schema that must hold. A judging one is a condition, or comes from a `not` or from
// another branch of a oneOf: it has the meaning of the standard (undeclared properties are
// allowed), and the properties that it declares are not allowed because of it.
struct Term {
  SchemaId schema;
  bool judging = false;

  // A judging one that only has to hold for no fewer values than the standard says: it asks whether
  // two places may have a value in common. Formats are as wide as any validator reads them.
  bool wide = false;

  friend bool operator==(const Term&, const Term&) = default;
};

// Places that hold together, in the order of the schema text, each once.
using Terms = std::vector<Term>;

using NodeId = Id<struct NodeTag, uint32_t>;

// Of the items from number `from` on, `min` to `max` fulfil `item`.
struct ContainsShape {
  Terms item;
  uint32_t min = 1;
  std::optional<uint32_t> max;
  uint32_t from = 0;
};

struct ArrayShape {
  std::vector<Terms> prefix;
  Terms rest;
  uint32_t count_min = 0;
  std::optional<uint32_t> count_max;
  std::vector<ContainsShape> contains;
  bool unique = false;
  bool repeated = false;  // two items are equal; only in a node with Node::allowed
};

struct Member {
  std::string name;
  bool required = false;
};

// At least one member has a name that `rule` allows and a value that it demands.
struct SomeMemberShape {
  const SomeMember* rule = nullptr;
  bool judging = false;
  bool wide = false;

  Term term(SchemaId schema) const { return {schema, judging, wide}; }
};

struct ObjectShape {
  // The rules of one place of the schema.
  struct Source {
    const ObjectRules* rules = nullptr;
    bool judging = false;
    bool wide = false;

    Term term(SchemaId schema) const { return {schema, judging, wide}; }
  };

  std::vector<Source> sources;
  std::vector<Member> members;                   // declared or required, in the order of the text
  bool closed = false;                           // undeclared properties are not allowed
  std::set<std::string, std::less<>> forbidden;  // no member has such a name, none in `members`
  Terms names;  // every name, as a string, fulfils them; `members` do
  std::vector<SomeMemberShape> some;
  uint32_t count_min = 0;  // members
  std::optional<uint32_t> count_max;

  // Whether a name that comes twice would change whether the object is valid.
  bool counts_names() const { return count_min > 0 || count_max || !some.empty(); }
};

// A choice among terms: of terms[at], one of `parts` has to hold.
struct Choice {
  size_t at = 0;
  std::vector<SchemaId> parts;
};

// A set of Terms, worked out.
struct Node {
  enum class Kind : uint8_t {
    kOpen,    // being worked out, or that failed
    kNone,    // no value holds
    kChoice,  // one of `choices` holds
    kShape,
  };

  Kind kind = Kind::kOpen;
  std::string pointer;
  std::string why;              // kNone: the reason, "at #/a: ..."
  std::vector<NodeId> choices;  // kChoice: at least one, none of them kNone

  // kShape. `types` have a value, as far as that is known.
  Types types = kAllTypes;
  NumberRules numbers;
  StringRules strings;
  ArrayShape arrays;
  ObjectShape objects;
  std::optional<std::vector<const boost::json::value*>> allowed;  // the only values; all fulfil it
};

// Terms without kAll, kNot, kJudged, kAlways, and choices of one part.
struct Unfolded {
  Terms terms;
  std::optional<SchemaId> never;  // no value holds because of this place
  std::string why;                // then
};

class Conjunctions {
 public:
  // `schema` and `give_up` outlive this. Places that negations need are added to `schema`.
  Conjunctions(Schema& schema, const GiveUp& give_up);

  // The node of these terms. kInvalid: an unsupported pattern, a negation that cannot be enforced,
  // too many combinations. kUnavailable: `give_up` returned true.
  Result<NodeId> find(const Terms& terms);

  // The node of the value of a property, of a node that is not kOpen. Errors as find().
  Result<NodeId> find_member(const Node& node, std::string_view name);

  const Node& operator[](NodeId id) const { return nodes_[id.value()]; }
  bool possible(NodeId id) const { return (*this)[id].kind != Node::Kind::kNone; }

  // The terms of a node that is kOpen. An error if working it out has failed.
  Result<Terms> terms_of(NodeId id) const;

  const Schema& schema() const { return schema_; }
  size_t nodes_count() const { return nodes_.size(); }

  // The values of Node::allowed as a set. The node has some.
  const ValueSet& allowed_by(const Node& node);

  // The terms of the value of a property; nothing if there may be no such property.
  Result<std::optional<Terms>> member_terms(const ObjectShape& shape, std::string_view name);

  // Terms that hold for exactly the values for which not all of `terms` hold, as the standard reads
  // them. Where they cannot be negated, find() of the result fails.
  Terms negated(const Terms& terms);

  // The terms of the value of an undeclared property whose name matches exactly those of `patterns`
  // for which `matched` is true. Nothing if there may be no such property.
  std::optional<Terms> undeclared(const ObjectShape& shape,
                                  const std::vector<std::string>& patterns,
                                  const std::vector<bool>& matched) const;

  // Whether plainly no value of such a property is valid.
  Result<bool> cannot_have(const ObjectShape& shape, std::string_view name);

  // Errors as Negations::of.
  Result<Unfolded> unfold(const Terms& terms);

  TextAutomata& automata() { return automata_; }

  // Called between steps of long work. kUnavailable: `give_up` returned true.
  Result<void> check_give_up();
  // For long work elsewhere.
  const GiveUp& give_up() const { return give_up_; }

 private:
  NodeId add_node(std::string pointer);
  NodeId add_impossible(std::string why);
  Result<void> work_out(NodeId id, const Terms& terms);
  Result<void> branch(NodeId id, const Terms& terms, const Choice& choice);
  Result<std::vector<NodeId>> exclusive_branches(const Terms& terms, size_t at, std::string& why);
  Result<bool> may_overlap(Terms terms, SchemaId other);
  std::optional<SchemaId> property(const ObjectRules& rules, std::string_view name) const;

  Schema& schema_;
  const GiveUp& give_up_;
  Negations negations_;
  TextAutomata automata_;
  std::deque<Node> nodes_;
  std::unordered_map<std::u32string, NodeId> known_;
  std::unordered_map<NodeId, Terms> open_;    // of nodes that are being worked out
  std::unordered_map<NodeId, Error> failed_;  // nodes that remain kOpen
  std::map<std::vector<SchemaId>, SchemaId> negated_;
  NodeId undeclared_;  // a kNone node
  NodeId forbidden_;   // a kNone node
  std::unordered_map<const Node*, ValueSet> allowed_;
  size_t members_count_ = 0;
  size_t checks_ = 0;
  size_t depth_ = 0;
  mutable std::unordered_map<const ObjectRules*, std::unordered_map<std::string_view, SchemaId>>
      properties_;
};

// --- choices (narrowing.cc, disjointness.cc)

// Terms after everything was decided about their choices that is plain.
struct Narrowed {
  Terms terms;
  std::optional<Choice> choice;  // the one to branch at; nothing if there is none left
  std::string why;               // not empty: no value holds
};

// Leaves out the choices of which an alternative holds anyway, and the alternatives that
// contradict the rest; where one is left, it is no choice. `terms` are unfolded. Keeps their order.
// Errors as Conjunctions::find.
Result<Narrowed> narrow(Conjunctions& conjunctions, const Schema& schema, Terms terms);

// Whether the nodes plainly have no value in common: other types, another const of one property, a
// member that one demands and the other forbids. Saves working out most pairs of branches of a
// oneOf. Errors as Conjunctions::find.
Result<bool> are_disjoint(Conjunctions& conjunctions, NodeId left, NodeId right);

// --- steps by which Conjunctions works out the shape of a node (shape_rules.cc). A step may ask it
// for other nodes.

// Adds the rules of all `terms`, which are kRules, to `node`. kInvalid: two multipleOf have no
// common multiple. kUnavailable: as Conjunctions::find.
Result<void> join_rules(Conjunctions& conjunctions, const Schema& schema, const Terms& terms,
                        Node& node);

// Removes the types and the allowed values that `node`, a shape, has no value of; sets Node::why if
// none is left. Errors as Conjunctions::find.
Result<void> remove_impossible_types(Conjunctions& conjunctions, Node& node);

// --- values (value_holds.cc)

// Whether the value is valid under a node. Errors as Conjunctions::find.
Result<bool> value_holds(Conjunctions& conjunctions, NodeId id, const boost::json::value& value);

// The same for a shape, without enum and const.
Result<bool> shape_holds(Conjunctions& conjunctions, const Node& node,
                         const boost::json::value& value);

// Whether a member that is asked for may have this name. Errors as Conjunctions::find.
Result<bool> name_fits(Conjunctions& conjunctions, const SomeMemberShape& some,
                       std::string_view name);

// --- the node of a whole schema, and its errors (root_node.cc)

// The node of the whole schema, which has a value. kInvalid: it has none, and why.
Result<NodeId> possible_root(Conjunctions& conjunctions, const Schema& schema);

// Whether the node has a value, as far as Endings knows. kInvalid: every value contains another one
// of its kind, so that none ends, and where it comes back to itself. Otherwise errors as
// Conjunctions::find.
Result<bool> check_ends(Conjunctions& conjunctions, NodeId root);

// --- names (name_classes.cc)

// The values of a node that are strings. kInvalid: they need too many states.
Result<CharDfa> string_texts(Conjunctions& conjunctions, NodeId id);

// The names of undeclared properties that match the same patterns of patternProperties, and what
// their values must be.
struct NameClass {
  std::optional<CharDfa> names;  // nothing: any name
  NodeId value;                  // a node that has a value
  Terms terms;                   // of which it is the node
};

// The classes of all undeclared names that an object of this node may have. kInvalid: too many or
// too large patterns.
Result<std::vector<NameClass>> name_classes(Conjunctions& conjunctions, const Node& node);

}  // namespace windrow::grammar
