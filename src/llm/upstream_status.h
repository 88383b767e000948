// UpstreamStatus: how one upstream server is doing, for progress lines, the summary of a job and
// /metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::llm {

// Counters since the start of the process, and gauges of this moment.
struct UpstreamStatus {
  std::string name;      // "http://gpu2:8000"
  bool healthy = false;  // it is reachable, and requests are sent to it
  int64_t answers = 0;
  int64_t failures = 0;  // refused, failed and unanswered calls
  std::vector<std::pair<std::string, int64_t>> failures_by_code;  // the most frequent first

  // By kind: few, always the same and in the same order.
  std::vector<std::pair<std::string_view, int64_t>> failures_by_kind;

  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;
  double latency_s = 0;                  // of recent answers; 0: none yet
  int32_t in_flight = 0;                 // calls
  int32_t in_flight_max = 0;             // its in-flight window, measured or configured
  std::string state;                     // "ok", "left alone", "being tried"
  std::string finding;                   // what was measured: "saturates at 16 in flight"
  uint64_t device_bytes = 0;             // memory used on its device; 0: unknown
  std::optional<double> cache_used;      // share of its KV cache, 0 to 1; absent: unknown
  std::optional<double> cache_used_max;  // the highest that was seen

  friend bool operator==(const UpstreamStatus&, const UpstreamStatus&) = default;
};

}  // namespace windrow::llm
