// A schema becomes nodes: every keyword of every part that is reached is enforced, without effect
// on what is valid, or refused. Pure.
#pragma once

#include <boost/json/value.hpp>

#include "base/result.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

// "at #/properties/a: ..."
Error schema_error(std::string_view pointer, std::string_view what);

// The result refers to values of `schema`, which must outlive it. kInvalid: a keyword that cannot
// be enforced or is not written right, a reference that leads nowhere or to itself, or more parts
// than are handled. kUnavailable: `give_up` said so.
Result<Schema> read_schema(const boost::json::value& schema, const SchemaOptions& options,
                           const GiveUp& give_up);

}  // namespace windrow::grammar
