// SimStats: counters of a simulated upstream, for tests and for `--stats`.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "sim_upstream/faults.h"

namespace windrow::sim_upstream {

struct SimStats {
  int64_t requests = 0;
  std::map<int, int64_t> answered;               // by status
  std::array<int64_t, kFaultKinds> faults = {};  // by FaultKind: answers that were struck
  int64_t left = 0;                              // the client left before the answer

  int64_t in_flight_max = 0;  // requests not yet answered
  int64_t busy_max = 0;       // slots in use
  int64_t waiting_max = 0;    // requests waiting for a slot

  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  // of prompt_tokens
  int64_t prefix_hits = 0;    // requests with cached tokens
  int64_t answer_tokens = 0;

  int64_t fault_count(FaultKind kind) const { return faults.at(static_cast<size_t>(kind)); }
};

// One member for each counter.
inline boost::json::object to_json(const SimStats& stats) {
  boost::json::object answered;
  for (const auto& [status, count] : stats.answered)
    answered[std::to_string(status)] = count;
  boost::json::object faults;
  for (size_t i = 0; i < kFaultKinds; ++i)
    faults[to_string(static_cast<FaultKind>(i))] = stats.faults.at(i);
  return {{"requests", stats.requests},           {"answered", std::move(answered)},
          {"faults", std::move(faults)},          {"left", stats.left},
          {"in_flight_max", stats.in_flight_max}, {"busy_max", stats.busy_max},
          {"waiting_max", stats.waiting_max},     {"prompt_tokens", stats.prompt_tokens},
          {"cached_tokens", stats.cached_tokens}, {"prefix_hits", stats.prefix_hits},
          {"answer_tokens", stats.answer_tokens}};
}

}  // namespace windrow::sim_upstream
