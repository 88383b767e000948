// What replies look like, as JSON Schema. A test holds replies that were made to it.
#pragma once

#include <boost/json/object.hpp>

namespace windrow::api {

// By their names under components/schemas, beside those of bodies (openapi_bodies.h).
boost::json::object reply_schemas();

}  // namespace windrow::api
