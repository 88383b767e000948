// The description of the server for programs: an OpenAPI 3.1 document, made from the same tables
// the parser of bodies reads. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string_view>

namespace windrow::api {

// A path that the document describes; a test holds the server's routes to this list.
struct DescribedRoute {
  std::string_view method;
  std::string_view path;
};
std::span<const DescribedRoute> described_routes();

boost::json::object openapi_document(std::string_view version, bool demands_keys);

}  // namespace windrow::api
