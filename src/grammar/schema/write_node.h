// WriteNode: how the writers of arrays and objects write the values within them.
#pragma once

#include <functional>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {

// The texts of a node that is possible. Errors as Conjunctions::find().
using WriteNode = std::function<Result<Part>(NodeId)>;

}  // namespace windrow::grammar
