// RouteTable: collects the routes of the server. Adds to each path its alias, if it has one, and
// the answer to OPTIONS.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/keys/request_guard.h"
#include "http/routes.h"
#include "http/server.h"

namespace windrow::api {

// Methods with paths, without OPTIONS, HEAD and aliases.
using ServedRoutes = std::vector<std::pair<std::string, std::string>>;

class RouteTable {
 public:
  // As http::Routes::add.
  void add(std::string_view method, std::string_view path, const http::Handler& handler);

  const ServedRoutes& served() const { return served_; }

  // All routes. `guard`, which answers OPTIONS, outlives them.
  http::Routes<http::Handler> finish(const RequestGuard& guard) &&;

 private:
  http::Routes<http::Handler> routes_;
  ServedRoutes served_;
};

}  // namespace windrow::api
