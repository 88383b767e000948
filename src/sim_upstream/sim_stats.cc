#include "sim_upstream/sim_stats.h"

#include <string>

namespace windrow::sim_upstream {

namespace json = boost::json;

json::object to_json(const SimStats& stats) {
  json::object answered;
  for (const auto& [status, count] : stats.answered)
    answered[std::to_string(status)] = count;
  json::object faults;
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
