// Negations: the places of a schema whose values are exactly those that another place does not
// allow, written with the same rules, so that Conjunctions needs no other. De Morgan's laws for
// allOf, anyOf and oneOf; a place with rules of its own becomes a choice, one branch for each way
// to break a rule: another type, a bound turned round, a pattern that is not found, a required
// member that is missing, an item or a member (SomeMember) that is not valid. A negated place has
// the meaning of the standard: its terms are judging. Used by one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

class Negations {
 public:
  // `schema` outlives this; places are added to it.
  explicit Negations(Schema& schema) : schema_(schema) {}

  // The same place each time, and its negation is `id` again. Its parts are kNot, not yet worked
  // out, so recursion ends. kInvalid, with the pointer: the place is too large.
  Result<SchemaId> of(SchemaId id);

  // A place of kind kNot; the same each time.
  SchemaId not_yet(SchemaId id);

  SchemaId add(std::string pointer, SchemaNode::Kind kind, std::vector<SchemaId> parts = {});
  SchemaId add_rules(std::string pointer, Rules rules);
  SchemaId always();  // a place for every value

 private:
  Result<SchemaId> make(SchemaId id);
  SchemaId make_one(const SchemaNode& node);

  Schema& schema_;
  std::unordered_map<SchemaId, SchemaId> known_;
  std::unordered_map<SchemaId, SchemaId> not_yet_;
  std::optional<SchemaId> always_;
};

}  // namespace windrow::grammar
