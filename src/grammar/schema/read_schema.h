// Reads a JSON Schema into nodes. Every keyword of every part that is reached is enforced, an
// annotation, or refused. Pure.
#pragma once

#include <boost/json/value.hpp>

#include "base/result.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

// "at #/properties/a: ..."
Error schema_error(std::string_view pointer, std::string_view what);

// The result refers to values of `schema`, which must outlive it. kInvalid: a keyword that cannot
// be enforced or has a wrong value, a reference to nothing or to itself, too many parts.
// kUnavailable: `give_up` returned true.
Result<Schema> read_schema(const boost::json::value& schema, const SchemaOptions& options,
                           const GiveUp& give_up);

}  // namespace windrow::grammar
