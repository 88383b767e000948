// RouteTable: the paths of the server while they are put together. A path has its other name, if it
// has one, and the answer to OPTIONS, which other pages' scripts ask first.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/keys/request_guard.h"
#include "http/routes.h"
#include "http/server.h"

namespace windrow::api {

// Methods with paths; OPTIONS, HEAD and other names are not listed.
using ServedRoutes = std::vector<std::pair<std::string, std::string>>;

class RouteTable {
 public:
  // As http::Routes::add.
  void add(std::string_view method, std::string_view path, const http::Handler& handler);

  const ServedRoutes& served() const { return served_; }

  // All of it. `front`, which answers OPTIONS, outlives what is returned.
  http::Routes<http::Handler> finish(const RequestGuard& front) &&;

 private:
  http::Routes<http::Handler> routes_;
  ServedRoutes served_;
};

}  // namespace windrow::api
