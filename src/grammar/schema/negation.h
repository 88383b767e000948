// Negations: the places of a schema whose values are exactly those that another place does not
// allow, written with the same rules, so that Conjunctions needs no other. De Morgan's laws for
// allOf, anyOf and oneOf; a place with rules of its own becomes a choice, one branch for each way
// to break a rule: another type, a bound turned round, a pattern that is not found, a required
// member that is missing, an item or a member (SomeMember) that is not valid. A negated place has
// the meaning of the standard: its terms are judging. Used by one thread at a time.
#pragma once

#include <unordered_map>

#include "base/result.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

class Negations {
 public:
  // `schema` outlives this; places are added to it.
  explicit Negations(Schema& schema) : schema_(schema) {}

  // The same place each time. Its parts are kNot, not yet worked out, so recursion ends.
  // kInvalid, with the pointer: what the place says cannot be negated (uniqueItems).
  Result<SchemaId> of(SchemaId id);

 private:
  Schema& schema_;
  std::unordered_map<SchemaId, SchemaId> known_;
};

}  // namespace windrow::grammar
