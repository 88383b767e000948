// unevaluatedProperties and unevaluatedItems, where the schema text alone says which members and
// items they are about: those that the schema and the ones that always hold with it ($ref, allOf)
// do not declare. Then they are additionalProperties, or items behind a prefix, of one more place.
// Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "grammar/schema/references.h"
#include "grammar/schema/rules_reader.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

// The place that `keyword` of `schema`, an object that has it, adds; nothing if it has no effect.
// `types` are those that `schema` allows. kInvalid: it depends on a branch of an anyOf or the like
// which members or items are meant; a reference to nothing.
Result<std::optional<SchemaId>> read_unevaluated(std::string_view keyword,
                                                 const References::Target& schema, Types types,
                                                 Draft draft, const References& references,
                                                 Places& places);

}  // namespace windrow::grammar
