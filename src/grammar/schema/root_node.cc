#include <fmt/format.h>

#include "grammar/schema/conjunctions.h"
#include "grammar/schema/endings.h"

namespace windrow::grammar {

Result<NodeId> possible_root(Conjunctions& conjunctions, const Schema& schema) {
  Result<NodeId> root = conjunctions.find({{schema.root, false}});
  if (!root || conjunctions.possible(*root)) return root;
  return Error{ErrorKind::kInvalid,
               fmt::format("no value is valid under this schema: {}", conjunctions[*root].why)};
}

Result<bool> check_ends(Conjunctions& conjunctions, NodeId root) {
  Endings endings(conjunctions);
  Result<bool> ends = endings.ends(root);
  if (!ends || *ends) return ends;
  const std::optional<std::string> place = endings.endless_at(root);
  if (!place) return false;
  return schema_error(*place,
                      "a value never ends: it must hold another one of its kind; take that out of "
                      "required, minItems or minProperties, or allow null in its place");
}

}  // namespace windrow::grammar
