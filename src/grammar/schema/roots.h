// The whole of a schema, as whoever writes it needs it. Pure.
#pragma once

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/schema/conjunctions.h"
#include "grammar/schema/schema_grammar.h"

namespace windrow::grammar {

// The node of all of it, of which there is a value. kInvalid: there is none, and why.
Result<NodeId> possible_root(Conjunctions& conjunctions, const Schema& schema);

// kInvalid: no value of the node ends, and where it comes back to itself. Otherwise nothing.
Result<void> ends(Conjunctions& conjunctions, NodeId root, const GiveUp& give_up);

}  // namespace windrow::grammar
