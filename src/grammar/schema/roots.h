// The node of a whole schema, with its errors. Used by one thread at a time.
#pragma once

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/schema/conjunctions.h"
#include "grammar/schema/schema_grammar.h"

namespace windrow::grammar {

// The node of the whole schema, which has a value. kInvalid: it has none, and why.
Result<NodeId> possible_root(Conjunctions& conjunctions, const Schema& schema);

// kInvalid: every value of the node contains another one of its kind, so that none ends, and where
// it comes back to itself. For the error message, after it turned out that there is no text.
// kUnavailable: `give_up` said so.
Result<void> check_ends(Conjunctions& conjunctions, NodeId root, const GiveUp& give_up);

}  // namespace windrow::grammar
