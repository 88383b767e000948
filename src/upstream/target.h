// The URLs of a server's routes. Pure.
#pragma once

#include <string_view>

#include "http/url.h"
#include "llm/request.h"

namespace windrow::upstream {

// `base` is what clients of the OpenAI API call its base URL: "http://h:8000/v1". One without a
// path means that too; any other path stays as it is, with its query
// ("https://h/deploy/x?version=1").
http::Url with_version(http::Url base);

// The route of an endpoint; `base` as with_version returns it.
http::Url target_of(const http::Url& base, llm::Endpoint endpoint);

// The server itself, for routes that do not belong to the OpenAI API ("/api/ps").
http::Url at_root(const http::Url& base, std::string_view path);

// A route that servers have beside the OpenAI API ("/metrics"): above the "/v1" with which the base
// ends, or at the root where it ends with something else.
http::Url beside_version(const http::Url& base, std::string_view path);

}  // namespace windrow::upstream
