// MemoryRoutes: every path of Hindsight's published API 0.9.1, and what this server does with it. A
// table, so that the routes, the OpenAPI document and docs/memory.md are held to one list.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "api/keys/request_guard.h"
#include "api/memory/memory_request.h"

namespace windrow::api {

// What a request waits for: the disk for a moment, or models for as long as they take.
enum class MemoryWait : uint8_t { kDisk, kModels };

struct MemoryRoute {
  std::string_view method;
  std::string_view path;
  MemoryEndpoint endpoint = nullptr;  // null: it is not there, and is answered 501
  MemoryWait wait = MemoryWait::kDisk;
  std::string_view instead = {};  // of one that is not there: what to use
};

// In an order in which the first one that matches a path is the right one. Paths that begin with
// "/v1/default/banks/{bank_id}" have the bank as their first part. Without /health and /metrics,
// which the server has anyway, and without the health and version pages of MemoryCalls.
std::span<const MemoryRoute> memory_routes();

}  // namespace windrow::api
