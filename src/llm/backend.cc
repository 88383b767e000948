#include "llm/backend.h"

#include <algorithm>

namespace windrow::llm {

std::shared_ptr<const ReadAhead> Backend::read_ahead(const Request& /*request*/) {
  return nullptr;
}

std::variant<int64_t, Failure> Backend::count_prompt(const Request&) {
  return Failure{.code = "unsupported_by_model",
                 .message =
                     "tokens are not counted here for this model: a server elsewhere has "
                     "it; ask that server",
                 .param = "model"};
}

BackendStats& BackendStats::operator+=(const BackendStats& other) {
  prompt_tokens += other.prompt_tokens;
  cached_tokens += other.cached_tokens;
  generated_tokens += other.generated_tokens;
  forced_tokens += other.forced_tokens;
  steps += other.steps;
  preemptions += other.preemptions;
  recomputed_tokens += other.recomputed_tokens;
  rows_running += other.rows_running;
  rows_waiting += other.rows_waiting;
  cells_used += other.cells_used;
  cells_resting += other.cells_resting;
  cells_max += other.cells_max;
  device_bytes_used = std::max(device_bytes_used, other.device_bytes_used);
  device_bytes_max = std::max(device_bytes_max, other.device_bytes_max);
  return *this;
}

}  // namespace windrow::llm
