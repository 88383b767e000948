// The flags of `windrow sim-upstream` (flag_table.h).
#pragma once

#include <span>

#include "app/commands/flag_table.h"
#include "base/result.h"
#include "sim_upstream/sim_server.h"

namespace windrow::app {

struct SimUpstreamCommand {
  sim_upstream::SimServerOptions server{.port = 8000};
  bool stats = false;  // at the end, as one line of JSON
};

// In the order of the help.
std::span<const Flag<SimUpstreamCommand>> sim_flags();

// kInvalid where flags exclude each other.
Result<void> check_sim_upstream(const SimUpstreamCommand& command);

}  // namespace windrow::app
