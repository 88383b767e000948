// How the nodes of a program hang together where they are about one and the same value: by $ref,
// allOf, anyOf, oneOf, not, if, then, else and dependent schemas. A pure pass over a whole program.
#pragma once

#include <optional>
#include <string>

#include "schema/program.h"

namespace windrow::schema {

struct Entanglement {
  std::string pointer;
  std::string what;
};

// What is wrong with it: a circle (judging one value would never end), or a chain that is too long
// for the stack. Otherwise sets Node::closing where the program is closed by default.
std::optional<Entanglement> untangle(Program& program);

}  // namespace windrow::schema
