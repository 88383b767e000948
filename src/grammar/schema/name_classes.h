// NameClass: the names of undeclared properties that match the same patterns of patternProperties,
// and what their values must be. Used by one thread at a time.
#pragma once

#include <optional>
#include <vector>

#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {

struct NameClass {
  std::optional<CharDfa> names;  // nothing: any name
  NodeId value;                  // a node that has a value
};

// The classes of all undeclared names that an object of this node may have. kInvalid: too many or
// too large patterns.
Result<std::vector<NameClass>> name_classes(Conjunctions& conjunctions, const Node& node);

}  // namespace windrow::grammar
