// The paths of /openapi.json: for each what it is for, who may ask it and what it answers. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "api/dialects/dialect.h"
#include "api/openapi.h"
#include "llm/request_json.h"

namespace windrow::api {

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

struct OpenapiRoute {
  DescribedRoute route;
  std::string_view id;
  PathKind kind = PathKind::kPage;
  std::string_view summary;
  std::string_view reply;  // a schema; empty: text of `content_type`
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  std::string_view content_type = "application/json";
  Dialect dialect = Dialect::kOwn;
  std::string_view body = "";  // kCall: a schema; empty: the endpoint's or the dialect's own
};

// In the order of the document.
std::span<const OpenapiRoute> openapi_routes();

}  // namespace windrow::api
