// Files and batches in /openapi.json: the shapes of what is sent and answered, as JSON Schema.
#pragma once

#include <boost/json/object.hpp>

namespace windrow::api {

// By their names under components/schemas.
boost::json::object storage_schemas();

}  // namespace windrow::api
