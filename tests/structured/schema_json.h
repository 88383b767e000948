// The JSON of a generated schema, twice: as its user writes it, and as any validator understands
// it. The difference is what the first leaves unsaid: that an object has no members but the
// declared ones. The second says so, in the terms of draft 2020-12, and is not made by the code
// under test.
#pragma once

#include <boost/json/object.hpp>

#include "structured/shape.h"

namespace windrow::structured {

boost::json::object written_schema(const SchemaCase& schema);
boost::json::object closed_schema(const SchemaCase& schema);

}  // namespace windrow::structured
