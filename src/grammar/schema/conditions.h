// Keywords by which a schema holds only under a condition: if with then and else, and the
// dependencies of a member. Each becomes a choice: the condition holds together with what depends
// on it, or it does not hold. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/schema/rules_reader.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

// The choice between then and else; nothing if `object` has no if, or neither of the two. `pointer`
// is that of `object`.
std::optional<SchemaId> read_condition(const boost::json::object& object,
                                       const std::string& pointer, Places& places);

// The places that one keyword of `object` adds: `dependencies`, `dependentRequired` or
// `dependentSchemas`. `types` are those that `object` allows. kInvalid: a member of a wrong type.
Result<std::vector<SchemaId>> read_dependencies(std::string_view keyword,
                                                const boost::json::object& object, Types types,
                                                const std::string& pointer, Places& places);

}  // namespace windrow::grammar
