// The page of /metrics: Prometheus' text format 0.0.4. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/catalogue.h"
#include "api/serve_metrics.h"
#include "dispatch/dispatcher.h"
#include "llm/backend.h"

namespace windrow::api {

constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

// What computes behind the catalogue, read when somebody asks for the page.
struct ModelReading {
  std::string name;
  llm::BackendStats stats;
  dispatch::QueueReading queue;
  dispatch::DispatchCounts dispatch;
};

// What the page shows beside the counters.
struct PageReadings {
  std::string version;
  ServeState state = ServeState::kLoading;
  int64_t connections = 0;
  int64_t requests_arriving = 0;  // of which not everything has come
  int64_t calls_live = 0;         // LiveRequests
  int64_t bytes_inside = 0;
  int64_t bytes_inside_max = 0;
  std::vector<ModelReading> models;
};

std::string metrics_page(const ServeMetrics::Reading& counters, const PageReadings& readings);

}  // namespace windrow::api
