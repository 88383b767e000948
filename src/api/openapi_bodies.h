// What bodies may say, as JSON Schema: made from the table the parser of bodies reads
// (llm/request_json.h) and from what the server itself takes out of them (envelope.h). Pure.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string_view>

#include "llm/request_json.h"

namespace windrow::api {

// A field that the server takes out of a body before the rest is read. Of two for one name and
// endpoint the first counts.
struct ServerField {
  std::string_view name;
  llm::EndpointSet endpoints;
  llm::FieldUse use = llm::FieldUse::kHonoured;
  std::string_view schema;       // as JSON
  std::string_view description;  // of a refused one: why, and but for what
};
std::span<const ServerField> server_fields();

// The name of the schema of an endpoint's body: "ChatCompletionRequest".
std::string_view body_schema_name(llm::Endpoint endpoint);

// Every field of the table is a property; of a refused one the description says why, and what is
// accepted of it all the same.
boost::json::object body_schema(llm::Endpoint endpoint);

}  // namespace windrow::api
