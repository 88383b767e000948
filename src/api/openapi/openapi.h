// The OpenAPI 3.1 description of the server. Pure. Paths and replies are data: openapi.json and
// components.json beside this file, and what the parts of the server add (server_part.h). The
// schemas of request bodies are made of the tables that the parsers read (llm/request_json.h,
// wire/translation.h), of the fields that the server itself takes out of a body (envelope.h), and
// of request_fields.json, which has the values of each field.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/dialect.h"
#include "llm/request_json.h"

namespace windrow::api {

struct DescribedRoute {
  std::string method;  // "GET"
  std::string path;    // "/v1/models/{model}"
};

// The document. It demands a security scheme only with `demands_keys`. `sections` are what the
// parts of the server add: "paths", and "components" with schemas, parameters and so on, all under
// names that are new.
boost::json::object openapi_document(std::string_view version, bool demands_keys,
                                     std::span<const boost::json::object> sections = {});

// The routes of a document, in its order. A test compares them with the routes of the server.
std::vector<DescribedRoute> described_routes(const boost::json::object& document);

// A field that the server takes out of a body before the rest is parsed. The first one of a name
// and endpoint counts.
struct ServerField {
  std::string_view name;
  llm::EndpointSet endpoints;
  llm::FieldUse use = llm::FieldUse::kHonoured;
  std::string_view schema;       // as JSON
  std::string_view description;  // kRefused: why, and the values that are accepted all the same
};
std::span<const ServerField> server_fields();

// The schema of an endpoint's body. Every field of the table is a property; the description of a
// refused one says why.
boost::json::object body_schema(llm::Endpoint endpoint);

// The schema of a body in another dialect, /v1/messages for example.
boost::json::object body_schema(Dialect dialect);

// All schemas, by their names under components/schemas: "ChatCompletionRequest".
boost::json::object body_schemas();

}  // namespace windrow::api
