#include "api/openapi/openapi.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cctype>
#include <utility>

#include <embedded/components.json.h>
#include <embedded/openapi.json.h>
#include "api/openapi/body_schemas.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

std::string upper_case(std::string_view method) {
  std::string name(method);
  for (char& letter : name)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

// Takes out every mention of API keys.
void remove_security(json::object& document) {
  document.erase("security");
  for (auto& path : document.at("paths").as_object()) {
    for (auto& operation : path.value().as_object())
      operation.value().as_object().erase("security");
  }
}

}  // namespace

std::vector<DescribedRoute> described_routes() {
  std::vector<DescribedRoute> routes;
  const json::value document = json::parse(embedded::kOpenapiJson);
  for (const auto& path : document.at("paths").as_object()) {
    for (const auto& operation : path.value().as_object())
      routes.push_back({upper_case(operation.key()), std::string(path.key())});
  }
  return routes;
}

json::object openapi_document(std::string_view version, bool demands_keys) {
  json::object document = json::parse(embedded::kOpenapiJson).as_object();
  document.at("info").as_object()["version"] = version;
  if (!demands_keys) remove_security(document);
  json::object components = json::parse(embedded::kComponentsJson).as_object();
  json::object& schemas = components.at("schemas").as_object();
  for (auto& [name, schema] : body_schemas())
    schemas[name] = std::move(schema);
  document["components"] = std::move(components);
  return document;
}

}  // namespace windrow::api
