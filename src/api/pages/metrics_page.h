// The page /metrics, in Prometheus' text format 0.0.4. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/calls/model_registry.h"
#include "api/keys/key_accounts.h"
#include "api/pages/metrics_writer.h"
#include "api/pages/process_reading.h"
#include "api/pages/serve_metrics.h"
#include "dispatch/dispatcher.h"
#include "llm/backend.h"
#include "llm/model_status.h"
#include "llm/upstream_status.h"

namespace windrow::api {

constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

// The state of one backend, read when the page is made.
struct ModelReading {
  std::string name;
  llm::BackendStats stats;
  dispatch::QueueReading queue;
  dispatch::DispatchCounts dispatch;
  std::optional<llm::ModelStatus> residence = {};  // if it is loaded and unloaded
  std::vector<llm::UpstreamStatus> upstreams = {};
};

// The gauges of the page.
struct PageReadings {
  std::string version;
  ServeState state = ServeState::kLoading;
  int64_t connections = 0;
  int64_t requests_arriving = 0;  // not complete yet
  int64_t calls_live = 0;         // LiveRequests
  std::vector<KeyReading> keys;
  int64_t bytes_inside = 0;
  int64_t bytes_inside_max = 0;
  int64_t answer_bytes = 0;  // llm::AnswerRoom
  int64_t answer_bytes_max = 0;
  int64_t answers_without_room = 0;
  int64_t unsent_bytes = 0;  // http::Server
  int64_t slow_readers_dropped = 0;
  int64_t responses_kept = 0;  // ResponseStore
  int64_t responses_kept_bytes = 0;
  std::vector<ModelReading> models;
  ProcessReading process = {};
};

// `add_others`, which may be empty, adds families behind these.
std::string metrics_page(const ServeMetrics::Reading& counters, const PageReadings& readings,
                         const std::function<void(MetricsWriter&)>& add_others = {});

}  // namespace windrow::api
