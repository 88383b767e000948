#include "grammar/schema/roots.h"

#include <fmt/format.h>

#include "grammar/schema/read_schema.h"

namespace windrow::grammar {

Result<NodeId> possible_root(Conjunctions& conjunctions, const Schema& schema) {
  Result<NodeId> root = conjunctions.find({{schema.root, false}});
  if (!root || conjunctions.possible(*root)) return root;
  return Error{ErrorKind::kInvalid,
               fmt::format("no value is valid under this schema: {}", conjunctions[*root].why)};
}

Result<void> ends(Conjunctions& conjunctions, NodeId root, const GiveUp& give_up) {
  if (const auto endless = conjunctions.endless(root)) {
    return schema_error(*endless,
                        "a value never ends: it must hold another one of its kind; take that out "
                        "of required or minItems, or allow null in its place");
  }
  if (give_up && give_up())
    return Error{ErrorKind::kUnavailable, "working out the schema took too long"};
  return {};
}

}  // namespace windrow::grammar
