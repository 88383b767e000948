// The steps by which Conjunctions works out the shape of a node: the rules of several places of a
// schema are joined, and types of which there is no value are removed. A step may ask Conjunctions
// for other nodes. Used by one thread at a time.
#pragma once

#include "base/result.h"
#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {

// Adds the rules of all `terms`, which are kRules, to `node`. kInvalid: two multipleOf have no
// common multiple. kUnavailable: as Conjunctions::find.
Result<void> join_rules(Conjunctions& conjunctions, const Schema& schema, const Terms& terms,
                        Node& node);

// Removes the types and the allowed values that `node`, a shape, has no value of; sets Node::why if
// none is left. Errors as Conjunctions::find.
Result<void> remove_impossible_types(Conjunctions& conjunctions, Node& node);

}  // namespace windrow::grammar
