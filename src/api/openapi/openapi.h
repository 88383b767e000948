// The description of the server for programs: an OpenAPI 3.1 document. Paths and replies are data,
// openapi.json and components.json beside this file; the schemas of request bodies are added from
// the tables that the parsers read (body_schemas.h). Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

namespace windrow::api {

struct DescribedRoute {
  std::string method;  // "GET"
  std::string path;    // "/v1/models/{model}"
};

// Every route of openapi.json, in its order. A test compares them with the routes of the server.
std::vector<DescribedRoute> described_routes();

// Returns the document. Without `demands_keys` it names no security scheme as required.
boost::json::object openapi_document(std::string_view version, bool demands_keys);

}  // namespace windrow::api
