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
#include "api/metrics_page.h"
#include "api/openapi_bodies.h"
#include "api/openapi_schemas.h"
#include "api/openapi_storage.h"
#include "llm/request_json.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using llm::Endpoint;

enum class PathKind : uint8_t {
  kCall,     // of a model
  kPage,     // needs a key where keys are demanded
  kOpen,     // needs none
  kModels,   // a page that is not there while models load
  kOrder,    // to a model, by an admin
  kStorage,  // files and batches, where there is a folder for them
  kKept,     // of a response that is kept
  kNothing,  // there is never anything
};

struct Route {
  DescribedRoute route;
  std::string_view id;
  PathKind kind = PathKind::kPage;
  std::string_view summary;
  std::string_view reply;  // a schema; empty: text of `content_type`
  Endpoint endpoint = Endpoint::kChatCompletions;
  std::string_view content_type = "application/json";
  Dialect dialect = Dialect::kOwn;
  std::string_view body = "";  // kCall: a schema; empty: the endpoint's or the dialect's own
};

constexpr auto kRoutes = std::to_array<Route>({
    {{"POST", "/v1/chat/completions"},
     "createChatCompletion",
     PathKind::kCall,
     "Answer a chat.",
     "ChatCompletion",
     Endpoint::kChatCompletions},
    {{"POST", "/v1/completions"},
     "createCompletion",
     PathKind::kCall,
     "Go on from a prompt.",
     "Completion",
     Endpoint::kCompletions},
    {{"POST", "/v1/embeddings"},
     "createEmbedding",
     PathKind::kCall,
     "Texts as vectors.",
     "EmbeddingList",
     Endpoint::kEmbeddings},
    {{"POST", "/v1/rerank"},
     "createRanking",
     PathKind::kCall,
     "Documents by how well they answer a query.",
     "Ranking",
     Endpoint::kRerank},
    {{"POST", "/v2/rerank"},
     "createRankingV2",
     PathKind::kCall,
     "The same under Cohere's second version, with scores from 0 to 1.",
     "Ranking",
     Endpoint::kRerank},
    {{"POST", "/rerank"},
     "createRankingTei",
     PathKind::kCall,
     "The same; with `texts` for `documents`, in the form of text-embeddings-inference.",
     "Ranking",
     Endpoint::kRerank},
    {.route = {"POST", kResponsesPath},
     .id = "createResponse",
     .kind = PathKind::kCall,
     .summary = "Answer a chat, asked in the words of OpenAI's Responses API.",
     .reply = "Response",
     .dialect = Dialect::kResponses},
    {.route = {"GET", "/v1/responses/{id}"},
     .id = "retrieveResponse",
     .kind = PathKind::kKept,
     .summary = "A response that is kept, as it was answered.",
     .reply = "Response"},
    {.route = {"DELETE", "/v1/responses/{id}"},
     .id = "deleteResponse",
     .kind = PathKind::kKept,
     .summary = "Take it away.",
     .reply = "ResponseDeleted"},
    {.route = {"GET", "/v1/responses/{id}/input_items"},
     .id = "listInputItems",
     .kind = PathKind::kKept,
     .summary = "The items that it was made from, those of earlier turns included.",
     .reply = "ResponseInputItems"},
    {.route = {"POST", "/v1/responses/compact"},
     .id = "compactResponse",
     .kind = PathKind::kNothing,
     .summary = "No conversation is compacted."},
    {.route = {"POST", kMessagesPath},
     .id = "createMessage",
     .kind = PathKind::kCall,
     .summary = "Answer a chat, asked in the words of Anthropic's Messages API.",
     .reply = "AnthropicMessage",
     .dialect = Dialect::kMessages},
    {.route = {"POST", kCountTokensPath},
     .id = "countTokens",
     .kind = PathKind::kCall,
     .summary = "How many tokens the prompt of a message has.",
     .reply = "TokenCount",
     .dialect = Dialect::kMessages,
     .body = "TokenCountRequest"},
    {.route = {"POST", "/api/chat"},
     .id = "ollamaChat",
     .kind = PathKind::kCall,
     .summary = "Answer a chat, asked in the words of Ollama's API.",
     .reply = "OllamaChat",
     .dialect = Dialect::kOllamaChat},
    {.route = {"POST", "/api/generate"},
     .id = "ollamaGenerate",
     .kind = PathKind::kCall,
     .summary = "Answer a prompt, asked in the words of Ollama's API.",
     .reply = "OllamaGeneration",
     .dialect = Dialect::kOllamaGenerate},
    {.route = {"POST", "/api/embed"},
     .id = "ollamaEmbed",
     .kind = PathKind::kCall,
     .summary = "Texts as vectors, asked in the words of Ollama's API.",
     .reply = "OllamaEmbeddings",
     .endpoint = Endpoint::kEmbeddings,
     .dialect = Dialect::kOllamaEmbed},
    {.route = {"POST", "/api/embeddings"},
     .id = "ollamaEmbeddings",
     .kind = PathKind::kCall,
     .summary = "One text as a vector, as Ollama's clients asked before.",
     .reply = "OllamaEmbedding",
     .endpoint = Endpoint::kEmbeddings,
     .dialect = Dialect::kOllamaEmbeddings},
    {.route = {"GET", "/api/tags"},
     .id = "ollamaTags",
     .kind = PathKind::kModels,
     .summary = "The models there are, as Ollama's clients list them.",
     .reply = "OllamaModels",
     .dialect = Dialect::kOllamaChat},
    {.route = {"GET", "/api/ps"},
     .id = "ollamaPs",
     .kind = PathKind::kPage,
     .summary = "Those of them that are in memory.",
     .reply = "OllamaModels",
     .dialect = Dialect::kOllamaChat},
    {.route = {"POST", "/api/show"},
     .id = "ollamaShow",
     .kind = PathKind::kModels,
     .summary = "One of them, with what it can be asked.",
     .reply = "OllamaModel",
     .dialect = Dialect::kOllamaChat,
     .body = "OllamaShowRequest"},
    {.route = {"GET", "/api/version"},
     .id = "ollamaVersion",
     .kind = PathKind::kPage,
     .summary = "The version of this server.",
     .reply = "OllamaVersion",
     .dialect = Dialect::kOllamaChat},
    {{"GET", "/v1/models"}, "listModels", PathKind::kModels, "The models there are.", "ModelList"},
    {{"GET", "/v1/models/{model}"},
     "retrieveModel",
     PathKind::kModels,
     "One of them; its name may have slashes.",
     "Model"},
    {{"POST", "/v1/windrow/models/{model}/load"},
     "loadModel",
     PathKind::kOrder,
     "Load a model; for an admin's key. The reply does not wait for it.",
     "Model"},
    {{"POST", "/v1/windrow/models/{model}/unload"},
     "unloadModel",
     PathKind::kOrder,
     "Unload a model that nobody uses; for an admin's key.",
     "Model"},
    {{"POST", "/v1/files"},
     "createFile",
     PathKind::kStorage,
     "Send a file of requests for a batch.",
     "File"},
    {{"GET", "/v1/files"}, "listFiles", PathKind::kStorage, "The files there are.", "FileList"},
    {{"GET", "/v1/files/{id}"}, "retrieveFile", PathKind::kStorage, "One of them.", "File"},
    {{"DELETE", "/v1/files/{id}"},
     "deleteFile",
     PathKind::kStorage,
     "Take it away.",
     "FileDeleted"},
    {{"GET", "/v1/files/{id}/content"},
     "downloadFile",
     PathKind::kStorage,
     "Its bytes, or a Range of them.",
     "",
     Endpoint::kChatCompletions,
     "application/octet-stream"},
    {{"POST", "/v1/batches"},
     "createBatch",
     PathKind::kStorage,
     "Have the requests of a file answered.",
     "Batch"},
    {{"GET", "/v1/batches"},
     "listBatches",
     PathKind::kStorage,
     "The batches there are.",
     "BatchList"},
    {{"GET", "/v1/batches/{id}"}, "retrieveBatch", PathKind::kStorage, "One of them.", "Batch"},
    {{"POST", "/v1/batches/{id}/cancel"},
     "cancelBatch",
     PathKind::kStorage,
     "End it with the results it has.",
     "Batch"},
    {{"GET", "/v1/windrow/requests"},
     "listRequests",
     PathKind::kPage,
     "What runs and waits now: of one's own key, or of all for an admin's.",
     "LiveRequestList"},
    {{"GET", "/health"}, "health", PathKind::kOpen, "The process lives.", "State"},
    {{"GET", "/ready"}, "ready", PathKind::kOpen, "It takes requests.", "State"},
    {{"GET", "/metrics"},
     "metrics",
     PathKind::kPage,
     "Counters for Prometheus.",
     "",
     Endpoint::kChatCompletions,
     kMetricsContentType},
    {{"GET", "/openapi.json"}, "describe", PathKind::kPage, "This document.", "Document"},
});

struct ErrorKind {
  int status;
  std::string_view when;
};

constexpr auto kErrors = std::to_array<ErrorKind>({
    {400, "The body cannot be used: `param` names the field."},
    {401, "A key is demanded, and the request has none or a wrong one."},
    {403, "The key is no admin's."},
    {404, "There is no such model."},
    {404, "There is no such model, file, batch, response or item."},
    {408, "The request did not come in time, or its deadline is over."},
    {409, "The model is used, or kept loaded."},
    {413, "The body is larger than bodies may be."},
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
constexpr auto kAnthropicErrors = std::to_array<ErrorKind>({
    {429, "A limit of the key is reached; Retry-After says when."},
    {529, "Too much is inside, models are being loaded, or the server is being stopped."},
});

std::vector<int> errors_of(const Route& route) {
  switch (route.kind) {
    case PathKind::kNothing:
      return {401, 404};
    case PathKind::kKept:
      if (route.id == "deleteResponse") return {401, 404};
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

json::object error_response(const ErrorKind& error, std::string_view schema) {
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
  for (const ErrorKind& error : kErrors) {
    responses[fmt::format("Error{}", error.status)] = error_response(error, "Error");
    responses[fmt::format("OllamaError{}", error.status)] = error_response(error, "OllamaError");
    if (error.status != 503) {
      responses[fmt::format("AnthropicError{}", error.status)] =
          error_response(error, "AnthropicError");
    }
  }
  for (const ErrorKind& error : kAnthropicErrors) {
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

json::object request_body(const Route& route) {
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
std::string events_of(const Route& route) {
  if (route.kind != PathKind::kCall || !route.body.empty()) return "";
  if (route.dialect == Dialect::kResponses) return "the data of each event is a ResponseEvent";
  if (route.dialect == Dialect::kMessages) return "the data of each event is an AnthropicEvent";
  if (is_ollama(route.dialect)) return "";
  const bool chat = route.endpoint == Endpoint::kChatCompletions;
  if (!chat && route.endpoint != Endpoint::kCompletions) return "";
  return fmt::format("the data of each event is a {}, or an Error, and at last [DONE]",
                     chat ? "ChatCompletionChunk" : "Completion");
}

json::object success(const Route& route) {
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

json::object operation(const Route& route, bool demands_keys) {
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
    all.reserve(kRoutes.size());
    for (const Route& route : kRoutes)
      all.push_back(route.route);
    return all;
  }();
  return routes;
}

json::object openapi_document(std::string_view version, bool demands_keys) {
  json::object paths;
  for (const Route& route : kRoutes) {
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
