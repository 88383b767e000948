// The schemas of request bodies, as JSON Schema: the fields come from the tables that the parsers
// read (llm/request_json.h, wire/translation.h) and from what the server itself takes out of a
// body (envelope.h); the values that a field accepts are data, request_fields.json beside this
// file. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string_view>

#include "api/wire/dialect.h"
#include "llm/request_json.h"

namespace windrow::api {

// A field that the server takes out of a body before the rest is parsed. The first one of a name
// and endpoint counts.
struct ServerField {
  std::string_view name;
  llm::EndpointSet endpoints;
  llm::FieldUse use = llm::FieldUse::kHonoured;
  std::string_view schema;       // as JSON
  std::string_view description;  // of a refused one: why, and the values accepted all the same
};
std::span<const ServerField> server_fields();

// The schema of an endpoint's body in OpenAI's format. Every field of the table is a property; the
// description of a refused one says why.
boost::json::object body_schema(llm::Endpoint endpoint);

// The schema of a body in another format, /v1/messages for example.
boost::json::object body_schema(Dialect dialect);

// All of them, by their names under components/schemas: "ChatCompletionRequest".
boost::json::object body_schemas();

}  // namespace windrow::api
