// What bodies and replies of other dialects look like, as JSON Schema: bodies from the tables their
// translation reads, replies written down. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "api/dialects/dialect.h"

namespace windrow::api {

// "ResponseRequest", "MessageRequest".
std::string_view body_schema_name(Dialect dialect);

// Every field of the table is a property; of a refused one the description says why.
boost::json::object body_schema(Dialect dialect);

// By their names under components/schemas.
boost::json::object dialect_schemas();

}  // namespace windrow::api
