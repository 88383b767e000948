// A text may be a value of several alternatives of a schema, and is read as all of them at once.
// The readings have to agree in which array or object they are (GrammarBuilder::distinct_lexeme).
// Items of a uniqueItems are one lexeme each, brackets included; so no other reading may have
// distinct lexemes within such an item. Used by one thread.
#pragma once

#include "base/result.h"
#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {

// kInvalid, with the pointer: two readings of a value of the node disagree, or too many are to be
// compared. Other errors as Conjunctions::find. Everything the node refers to is looked at, so it
// is called only where items that are arrays or objects must differ.
Result<void> check_readings(Conjunctions& conjunctions, NodeId root);

}  // namespace windrow::grammar
