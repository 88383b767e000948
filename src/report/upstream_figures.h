// UpstreamFigures: how one server elsewhere is doing, for whoever shows it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace windrow::report {

// Counters since the start of the run, and readings of this moment.
struct UpstreamFigures {
  std::string name;  // "http://gpu2:8000"
  int64_t answers = 0;
  int64_t failures = 0;  // refused, failed and unanswered calls
  std::vector<std::pair<std::string, int64_t>> failures_by_code;  // the most frequent first
  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;
  double latency_s = 0;  // of answers, lately; 0: none yet
  int32_t in_flight = 0;
  int32_t in_flight_max = 0;
  std::string state;          // "ok", "left alone", "being tried"
  std::string finding;        // what was found of how much it takes: "saturates at 16 in flight"
  uint64_t device_bytes = 0;  // of its device that are used, where it tells; 0: unknown
  // Of its memory for keys and values of tokens, from 0 to 1, where it tells: now and at most.
  std::optional<double> cache_used;
  std::optional<double> cache_used_max;

  friend bool operator==(const UpstreamFigures&, const UpstreamFigures&) = default;
};

// For events and the summary.
boost::json::object to_json(const UpstreamFigures& upstream);

// A table, one line each.
std::string upstreams_text(std::span<const UpstreamFigures> upstreams);

// For the live line, shortest first thing to know: "gpu2:8000 16/16 in flight, 1.2 s".
std::string upstream_piece(const UpstreamFigures& upstream);

}  // namespace windrow::report
