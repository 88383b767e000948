#include "api/route_table.h"

#include <algorithm>
#include <array>
#include <set>

namespace windrow::api {
namespace {

// Paths that are also served without /v1, because the base URLs of some clients lack it.
constexpr auto kWithoutVersion = std::to_array<std::string_view>(
    {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/models",
     "/v1/models/{a}", "/v1/models/{a}/{b}", "/v1/models/{a}/{b}/{c}"});

// A path and its alias, if it has one.
std::vector<std::string_view> route_names(std::string_view path) {
  std::vector<std::string_view> names{path};
  if (std::ranges::find(kWithoutVersion, path) != kWithoutVersion.end())
    names.push_back(path.substr(std::string_view("/v1").size()));
  return names;
}

// "GET, HEAD, POST"
std::string methods_of(std::string_view path, const ServedRoutes& served) {
  std::string methods;
  for (const std::string_view method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
    if (std::ranges::find(served, std::pair(std::string(method), std::string(path))) ==
        served.end())
      continue;
    if (!methods.empty()) methods += ", ";
    methods += method == "GET" ? "GET, HEAD" : method;
  }
  return methods;
}

}  // namespace

void RouteTable::add(std::string_view method, std::string_view path, const http::Handler& handler) {
  for (const std::string_view name : route_names(path))
    routes_.add(method, name, handler);
  served_.emplace_back(method, path);
}

http::Routes<http::Handler> RouteTable::finish(const RequestGuard& guard) && {
  std::set<std::string_view> paths;
  for (const auto& [method, path] : served_) {
    if (!paths.insert(path).second) continue;
    for (const std::string_view name : route_names(path)) {
      routes_.add("OPTIONS", name,
                  [&guard, methods = methods_of(path, served_)](const http::ServerRequest& request,
                                                                http::Exchange exchange) {
                    exchange.send(guard.preflight(request, methods));
                  });
    }
  }
  return std::move(routes_);
}

}  // namespace windrow::api
