#include "api/openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cctype>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "api/dialects/openapi_dialects.h"
#include "api/openapi_bodies.h"
#include "api/openapi_routes.h"
#include "api/openapi_schemas.h"
#include "api/openapi_storage.h"
#include "llm/request_json.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using llm::Endpoint;

struct ErrorStatus {
  int status;
  std::string_view when;
};

constexpr auto kErrors = std::to_array<ErrorStatus>({
    {400, "The body cannot be used: `param` names the field."},
    {401, "A key is demanded, and the request has none or a wrong one."},
    {403, "The key is no admin's."},
    {404, "There is no such model, file, batch, response or item."},
    {408, "The request did not come in time, or its deadline is over."},
    {409, "The model is used, or kept loaded."},
    {413, "The body, or the conversation it continues or that is listed, is larger than may be."},
    {415, "The body is compressed, and not by gzip."},
    {416, "The Range begins behind the end of the file."},
    {429, "A limit of the key is reached, or too much is inside; Retry-After says when."},
    {500, "What computes cannot answer."},
    {501, "This server has no folder to keep files in."},
    {502, "A server elsewhere failed."},
    {503, "Models are being loaded, or the server is being stopped."},
    {504, "A server elsewhere took longer than it may."},
    {507, "There is no room for more files."},
});

// Of /v1/messages, where these are not as above.
constexpr auto kAnthropicErrors = std::to_array<ErrorStatus>({
    {429, "A limit of the key is reached; Retry-After says when."},
    {529, "Too much is inside, models are being loaded, or the server is being stopped."},
});

std::vector<int> errors_of(const OpenapiRoute& route) {
  switch (route.kind) {
    case PathKind::kNothing:
      return {401, 404};
    case PathKind::kKept:
      if (route.id == "deleteResponse") return {401, 404};
      if (route.id == "listInputItems") return {400, 401, 404, 413, 429, 500};
      return {400, 401, 404};
    case PathKind::kCall:
      if (route.dialect == Dialect::kMessages)
        return {400, 401, 404, 408, 413, 415, 429, 500, 502, 504, 529};
      return {400, 401, 404, 408, 413, 415, 429, 500, 502, 503, 504};
    case PathKind::kModels:
      if (route.id == "ollamaShow") return {400, 401, 404, 413, 503};
      if (route.route.path.find('{') != std::string_view::npos) return {401, 404, 503};
      return {401, 503};
    case PathKind::kOrder:
      return {400, 401, 403, 404, 409, 503};
    case PathKind::kStorage:
      if (route.id == "downloadFile") return {401, 404, 416, 500, 501};
      if (route.id == "createFile") return {400, 401, 413, 500, 501, 507};
      if (route.id == "listFiles" || route.id == "listBatches") return {400, 401, 500, 501};
      if (route.id == "createBatch") return {400, 401, 429, 500, 501, 507};
      return {400, 401, 404, 500, 501, 507};
    case PathKind::kPage:
      return {401};
    case PathKind::kOpen:
      break;
  }
  if (route.id == "ready") return {503};
  return {};
}

json::object reference(std::string_view folder, std::string_view name) {
  return {{"$ref", fmt::format("#/components/{}/{}", folder, name)}};
}

json::object header(std::string_view name, std::string_view type, std::string_view description) {
  return {{"name", name},
          {"in", "header"},
          {"required", false},
          {"description", description},
          {"schema", {{"type", type}}}};
}

json::object in_query(std::string_view name, std::string_view type, std::string_view description) {
  json::object parameter = header(name, type, description);
  parameter["in"] = "query";
  return parameter;
}

json::object parameters() {
  return {
      {"After", in_query("after", "string", "An id: what comes behind it.")},
      {"Limit", in_query("limit", "integer", "So many at most.")},
      {"Order", in_query("order", "string", "\"desc\", the newest first, or \"asc\".")},
      {"Purpose", in_query("purpose", "string", "Files of this purpose alone.")},
      {"IdempotencyKey",
       header("Idempotency-Key", "string", "Sent again, it brings the batch that it made.")},
      {"Id",
       {{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}},
      {"Priority",
       header("X-Windrow-Priority", "string", "As the field `priority`, over which it wins.")},
      {"Lane", header("X-Windrow-Lane", "string",
                      "Requests of one lane and key go one after the other, in order.")},
      {"Deadline", header("X-Windrow-Deadline-Ms", "integer",
                          "In so many milliseconds the answer is of use; afterwards 408.")},
      {"Encoding", header("Content-Encoding", "string", "gzip: the body is packed so.")},
      {"Model",
       {{"name", "model"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}}};
}

json::object content_of(std::string_view type, json::object schema) {
  return {{type, {{"schema", std::move(schema)}}}};
}

json::object error_response(const ErrorStatus& error, std::string_view schema) {
  json::object response{{"description", error.when},
                        {"content", content_of("application/json", reference("schemas", schema))}};
  if (error.status == 429 || error.status == 503 || error.status == 529) {
    response["headers"] = {
        {"Retry-After", {{"description", "seconds"}, {"schema", {{"type", "integer"}}}}}};
  }
  return response;
}

json::object error_responses() {
  json::object responses;
  for (const ErrorStatus& error : kErrors) {
    responses[fmt::format("Error{}", error.status)] = error_response(error, "Error");
    responses[fmt::format("OllamaError{}", error.status)] = error_response(error, "OllamaError");
    if (error.status != 503) {
      responses[fmt::format("AnthropicError{}", error.status)] =
          error_response(error, "AnthropicError");
    }
  }
  for (const ErrorStatus& error : kAnthropicErrors) {
    responses[fmt::format("AnthropicError{}", error.status)] =
        error_response(error, "AnthropicError");
  }
  return responses;
}

json::object schemas() {
  json::object all = reply_schemas();
  for (auto& [name, schema] : storage_schemas())
    all[name] = std::move(schema);
  for (const Endpoint endpoint : llm::endpoints())
    all[body_schema_name(endpoint)] = body_schema(endpoint);
  for (const auto& [name, schema] : dialect_schemas())
    all[name] = schema;
  all["Document"] = {{"type", "object"}, {"required", {"openapi", "paths"}}};
  return all;
}

json::object any_of(std::initializer_list<std::string_view> names) {
  json::array forms;
  for (const std::string_view name : names)
    forms.push_back(reference("schemas", name));
  return {{"anyOf", std::move(forms)}};
}

json::object request_body(const OpenapiRoute& route) {
  if (route.id == "createFile") {
    return {{"required", true},
            {"content", content_of("multipart/form-data", reference("schemas", "FileUpload"))}};
  }
  if (route.id == "createBatch") {
    return {{"required", true},
            {"content", content_of("application/json", reference("schemas", "BatchCreation"))}};
  }
  const std::string_view own = route.dialect == Dialect::kOwn ? body_schema_name(route.endpoint)
                                                              : body_schema_name(route.dialect);
  const std::string_view name = route.body.empty() ? own : route.body;
  json::object schema = route.route.path == "/rerank" ? any_of({name, "TeiRerankRequest"})
                                                      : reference("schemas", name);
  return {{"required", true}, {"content", content_of("application/json", std::move(schema))}};
}

// Describes the events of a route's stream; empty where it has none.
std::string events_of(const OpenapiRoute& route) {
  if (route.kind != PathKind::kCall || !route.body.empty()) return "";
  if (route.dialect == Dialect::kResponses) return "the data of each event is a ResponseEvent";
  if (route.dialect == Dialect::kMessages) return "the data of each event is an AnthropicEvent";
  if (is_ollama(route.dialect)) return "";
  const bool chat = route.endpoint == Endpoint::kChatCompletions;
  if (!chat && route.endpoint != Endpoint::kCompletions) return "";
  return fmt::format("the data of each event is a {}, or an Error, and at last [DONE]",
                     chat ? "ChatCompletionChunk" : "Completion");
}

json::object success(const OpenapiRoute& route) {
  json::object response{{"description", "It is answered."}};
  json::object schema{{"type", "string"}};
  if (!route.reply.empty()) schema = reference("schemas", route.reply);
  if (route.route.path == "/rerank") schema = any_of({route.reply, "TeiRanking"});
  json::object content = content_of(route.content_type, std::move(schema));
  if (const std::string events = events_of(route); !events.empty()) {
    content["text/event-stream"] = {
        {"schema",
         {{"type", "string"}, {"description", fmt::format("with stream: true; {}", events)}}}};
  }
  if (route.dialect == Dialect::kOllamaGenerate || route.id == "ollamaChat") {
    content["application/x-ndjson"] = {
        {"schema",
         {{"type", "string"},
          {"description",
           fmt::format("unless stream is false: each line is an {}, or an OllamaError",
                       route.reply)}}}};
  }
  response["content"] = std::move(content);
  return response;
}

json::object operation(const OpenapiRoute& route, bool demands_keys) {
  json::object operation{{"operationId", route.id}, {"summary", route.summary}};
  json::array parameters;
  if (route.kind == PathKind::kCall) {
    for (const std::string_view name : {"Priority", "Lane", "Deadline", "Encoding"})
      parameters.push_back(reference("parameters", name));
    operation["requestBody"] = request_body(route);
  }
  if (route.id == "createFile" || route.id == "createBatch" || route.id == "ollamaShow")
    operation["requestBody"] = request_body(route);
  if (route.id == "listFiles") {
    for (const std::string_view name : {"After", "Limit", "Order", "Purpose"})
      parameters.push_back(reference("parameters", name));
  }
  if (route.id == "listInputItems") {
    for (const std::string_view name : {"After", "Limit", "Order"})
      parameters.push_back(reference("parameters", name));
  }
  if (route.id == "listBatches") {
    for (const std::string_view name : {"After", "Limit"})
      parameters.push_back(reference("parameters", name));
  }
  if (route.id == "createBatch") parameters.push_back(reference("parameters", "IdempotencyKey"));
  if (route.route.path.find("{id}") != std::string_view::npos)
    parameters.push_back(reference("parameters", "Id"));
  if (route.route.path.find("{model}") != std::string_view::npos)
    parameters.push_back(reference("parameters", "Model"));
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  json::object responses;
  if (route.kind != PathKind::kNothing) responses["200"] = success(route);
  const std::string_view prefix = route.dialect == Dialect::kMessages ? "Anthropic"
                                  : is_ollama(route.dialect)          ? "Ollama"
                                                                      : "";
  for (const int status : errors_of(route)) {
    responses[fmt::format("{}", status)] =
        reference("responses", fmt::format("{}Error{}", prefix, status));
  }
  operation["responses"] = std::move(responses);
  if (demands_keys && route.kind == PathKind::kOpen) operation["security"] = json::array();
  return operation;
}

std::string method_name(std::string_view method) {
  std::string name(method);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

std::span<const DescribedRoute> described_routes() {
  static const std::vector<DescribedRoute> routes = [] {
    std::vector<DescribedRoute> all;
    all.reserve(openapi_routes().size());
    for (const OpenapiRoute& route : openapi_routes())
      all.push_back(route.route);
    return all;
  }();
  return routes;
}

json::object openapi_document(std::string_view version, bool demands_keys) {
  json::object paths;
  for (const OpenapiRoute& route : openapi_routes()) {
    json::value& path = paths[route.route.path];
    if (path.is_null()) path = json::object();
    path.as_object()[method_name(route.route.method)] = operation(route, demands_keys);
  }
  json::object document{
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Windrow"},
        {"version", version},
        {"summary", "Many requests to language models as few forward passes."},
        {"description",
         "Chats, completions, embeddings, responses and models are also answered without the /v1."},
        {"license", {{"name", "Apache 2.0"}, {"identifier", "Apache-2.0"}}}}},
      {"servers", json::array{json::object{{"url", "/"}}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", schemas()},
        {"responses", error_responses()},
        {"parameters", parameters()},
        {"securitySchemes",
         {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
          {"header", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-Api-Key"}}}}}}}};
  if (demands_keys) {
    document["security"] = json::array{json::object{{"bearer", json::array()}},
                                       json::object{{"header", json::array()}}};
  }
  return document;
}

}  // namespace windrow::api
