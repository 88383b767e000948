#include "api/openapi/openapi.h"

#include <embedded/components.json.h>
#include <embedded/openapi.json.h>
#include <embedded/request_fields.json.h>
#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cctype>
#include <string>
#include <utility>

#include "api/wire/translation.h"
#include "base/ensure.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

std::string upper_case(std::string_view method) {
  std::string name(method);
  for (char& letter : name)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

void add_new(const json::object& from, json::object& to) {
  for (const auto& [name, value] : from)
    ENSURE(to.emplace(name, value).second, "the OpenAPI document has {} twice", name);
}

// Removes everything about API keys.
void remove_security(json::object& document) {
  document.erase("security");
  for (auto& path : document.at("paths").as_object()) {
    for (auto& operation : path.value().as_object())
      operation.value().as_object().erase("security");
  }
}

}  // namespace

json::object openapi_document(std::string_view version, bool demands_keys,
                              std::span<const json::object> sections) {
  json::object document = json::parse(embedded::kOpenapiJson).as_object();
  document.at("info").as_object()["version"] = version;
  json::object& paths = document.at("paths").as_object();
  json::object components = json::parse(embedded::kComponentsJson).as_object();
  add_new(body_schemas(), components.at("schemas").as_object());
  for (const json::object& section : sections) {
    add_new(section.at("paths").as_object(), paths);
    const json::value* added = section.if_contains("components");
    if (added == nullptr) continue;
    for (const auto& [kind, named] : added->as_object())
      add_new(named.as_object(), components.at(kind).as_object());
  }
  if (!demands_keys) remove_security(document);
  document["components"] = std::move(components);
  return document;
}

std::vector<DescribedRoute> described_routes(const json::object& document) {
  std::vector<DescribedRoute> routes;
  for (const auto& path : document.at("paths").as_object()) {
    for (const auto& operation : path.value().as_object())
      routes.push_back({upper_case(operation.key()), std::string(path.key())});
  }
  return routes;
}

namespace {

using llm::Endpoint;
using llm::EndpointSet;
using llm::FieldUse;

constexpr EndpointSet kGenerating{Endpoint::kChatCompletions, Endpoint::kCompletions};
constexpr EndpointSet kAll{Endpoint::kChatCompletions, Endpoint::kCompletions,
                           Endpoint::kEmbeddings, Endpoint::kRerank};

constexpr auto kServerFields = std::to_array<ServerField>({
    {"stream", kGenerating, FieldUse::kHonoured, R"({"type":["boolean","null"]})",
     "true: the answer is streamed as server-sent events"},
    {"stream", kAll, FieldUse::kRefused, R"({"enum":[false,null]})",
     "this endpoint does not stream"},
    {"stream_options", kGenerating, FieldUse::kHonoured,
     R"({"type":["object","null"],"properties":{"include_usage":{"type":["boolean","null"]}}})",
     "with stream: true; include_usage adds a last event with the usage; include_obfuscation and "
     "continuous_usage_stats are accepted without effect"},
    {"priority", kAll, FieldUse::kHonoured,
     R"({"anyOf":[{"enum":["interactive","normal","batch"]},{"type":"integer"},{"type":"null"}]})",
     "interactive, normal or batch; or a number, as in vLLM: below 0 is interactive, 0 is normal, "
     "above 0 is batch"},
    {"service_tier", kAll, FieldUse::kHonoured,
     R"({"enum":["auto","default","flex","priority",null]})",
     "OpenAI's name for it: priority is interactive, auto and default are normal, flex is batch"},
});

constexpr std::array<std::string_view, 4> kEndpointBodyNames = {
    "ChatCompletionRequest", "CompletionRequest", "EmbeddingRequest", "RerankRequest"};

constexpr std::string_view kUnlistedNative =
    "A field that is not listed is refused by name, unless an upstream server answers or this "
    "server was started with --unknown-fields ignore.";
constexpr std::string_view kUnlistedTranslated =
    "A field that is not listed is refused by name, unless the server was started with "
    "--unknown-fields ignore.";

std::string_view body_name(Endpoint endpoint) {
  return kEndpointBodyNames.at(static_cast<size_t>(endpoint));
}

std::string_view body_name(Dialect dialect) {
  switch (dialect) {
    case Dialect::kMessages:
      return "AnthropicMessageRequest";
    case Dialect::kOllamaChat:
      return "OllamaChatRequest";
    case Dialect::kOllamaGenerate:
      return "OllamaGenerationRequest";
    case Dialect::kOllamaEmbed:
      return "OllamaEmbeddingsRequest";
    case Dialect::kOllamaEmbeddings:
      return "OllamaEmbeddingRequest";
    case Dialect::kResponses:
    case Dialect::kOwn:
      break;
  }
  return "ResponseRequest";
}

const json::object& request_fields() {
  static const json::object data = json::parse(embedded::kRequestFieldsJson).as_object();
  return data;
}

// The values that a field accepts, by the first of `groups` that lists it. Empty: any value.
json::object accepted_values(std::initializer_list<std::string_view> groups,
                             std::string_view name) {
  for (const std::string_view group : groups) {
    const json::value* fields = request_fields().at("fields").as_object().if_contains(group);
    if (fields == nullptr) continue;
    if (const json::value* found = fields->as_object().if_contains(name)) return found->as_object();
  }
  return {};
}

json::object native_values(Endpoint endpoint, std::string_view name) {
  return accepted_values({body_name(endpoint), "native"}, name);
}

json::object translated_values(Dialect dialect, std::string_view name) {
  if (is_ollama(dialect)) return accepted_values({"ollama", "translated"}, name);
  return accepted_values({"translated"}, name);
}

json::object body_of(std::string_view name, std::string_view description, json::object properties) {
  return {{"type", "object"},
          {"description", description},
          {"required", request_fields().at("required").at(name)},
          {"properties", std::move(properties)}};
}

void allow_null(json::object& schema) {
  if (json::value* type = schema.if_contains("type")) {
    if (*type == "null") return;
    json::array types = type->is_array() ? type->as_array() : json::array{*type};
    types.emplace_back("null");
    *type = std::move(types);
  } else if (json::value* values = schema.if_contains("enum")) {
    values->as_array().emplace_back(nullptr);
  } else {
    json::array forms{schema, json::object{{"type", "null"}}};
    schema = {{"anyOf", std::move(forms)}};
  }
}

// The one accepted value of a refused field, if there is one.
json::object accepted_of_refused(Endpoint endpoint, const llm::FieldRule& rule) {
  if (rule.values.empty()) return {{"type", "null"}};
  boost::system::error_code failed;
  json::value value = json::parse(rule.values, failed);
  if (failed) return native_values(endpoint, rule.name);  // the values are described by a text
  return {{"enum", json::array{std::move(value)}}};
}

json::object property_of(Endpoint endpoint, const llm::FieldRule& rule) {
  json::object schema = rule.use == FieldUse::kRefused ? accepted_of_refused(endpoint, rule)
                                                       : native_values(endpoint, rule.name);
  ENSURE(!schema.empty() || rule.use == FieldUse::kWithoutEffect,
         "request_fields.json says nothing about the field {}", rule.name);
  const bool takes_null = !llm::check_field(endpoint, rule.name, nullptr).has_value();
  if (takes_null && !schema.empty()) allow_null(schema);
  const std::string exception =
      rule.values.empty() ? std::string() : fmt::format(", but for {}", rule.values);
  switch (rule.use) {
    case FieldUse::kHonoured:
      schema["description"] = rule.values;
      break;
    case FieldUse::kWithoutEffect:
      schema["description"] = fmt::format("accepted without effect: {}", rule.values);
      break;
    case FieldUse::kRefused:
      schema["description"] = fmt::format("refused{}: {}", exception, rule.instead);
      break;
  }
  return schema;
}

json::object property_of(Dialect dialect, const TranslatedRule& rule) {
  json::object schema;
  switch (rule.use) {
    case FieldUse::kHonoured:
      schema = translated_values(dialect, rule.name);
      schema["description"] = rule.values;
      break;
    case FieldUse::kWithoutEffect:
      schema["description"] = fmt::format("accepted without effect: {}", rule.values);
      break;
    case FieldUse::kRefused: {
      json::array accepted{nullptr};
      if (!rule.values.empty()) accepted.push_back(json::parse(rule.values));
      schema["enum"] = std::move(accepted);
      schema["description"] = fmt::format("refused: {}", rule.instead);
      break;
    }
  }
  return schema;
}

}  // namespace

std::span<const ServerField> server_fields() {
  return kServerFields;
}

json::object body_schema(Endpoint endpoint) {
  json::object properties;
  for (const llm::FieldRule& rule : llm::field_rules()) {
    if (rule.endpoints.contains(endpoint)) properties[rule.name] = property_of(endpoint, rule);
  }
  // These replace the table's entries, which are about rows of a file.
  json::object by_server;
  for (const ServerField& field : kServerFields) {
    if (!field.endpoints.contains(endpoint) || by_server.contains(field.name)) continue;
    json::object schema = json::parse(field.schema).as_object();
    schema["description"] = field.description;
    by_server[field.name] = std::move(schema);
  }
  for (auto& [name, schema] : by_server)
    properties[name] = std::move(schema);
  return body_of(body_name(endpoint), kUnlistedNative, std::move(properties));
}

json::object body_schema(Dialect dialect) {
  json::object properties;
  for (const TranslatedRule& rule : translated_rules(dialect))
    properties[rule.name] = property_of(dialect, rule);
  return body_of(body_name(dialect), kUnlistedTranslated, std::move(properties));
}

json::object body_schemas() {
  json::object schemas;
  for (const Endpoint endpoint : llm::endpoints()) {
    schemas[body_name(endpoint)] = body_schema(endpoint);
    for (const Dialect dialect : dialects_of(endpoint))
      schemas[body_name(dialect)] = body_schema(dialect);
  }
  // /v1/messages/count_tokens does not need max_tokens.
  json::object counted = body_schema(Dialect::kMessages);
  counted["required"] = json::array{"messages"};
  schemas["TokenCountRequest"] = std::move(counted);
  return schemas;
}

}  // namespace windrow::api
