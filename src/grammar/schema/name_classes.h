// The names of members that are not declared, told apart by which patterns of patternProperties
// they match: for each combination that some name has, the names and what their values must be.
#pragma once

#include <optional>
#include <vector>

#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {

struct NameClass {
  std::optional<CharDfa> names;  // nothing: any name
  NodeId value;                  // there is one
};

// kInvalid: more patterns than are handled, or patterns too big. What is declared is in no class.
Result<std::vector<NameClass>> name_classes(Conjunctions& conjunctions, const Node& node);

}  // namespace windrow::grammar
