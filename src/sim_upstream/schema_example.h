// A value that fits a JSON schema, for the parts of schemas that structured output uses. Pure.
#pragma once

#include <boost/json/value.hpp>

#include "base/random.h"

namespace windrow::sim_upstream {

// Follows type, enum, const, properties, items, minItems, minimum, anyOf, oneOf and $ref into the
// schema itself; null where a schema says something else, or turns in a circle.
boost::json::value example_of_schema(const boost::json::value& schema, Random& random);
inline boost::json::value example_of_schema(const boost::json::value& schema, Random&& random) {
  return example_of_schema(schema, random);
}

}  // namespace windrow::sim_upstream
