// The behaviour of a server, as a seed decides it.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "sim_upstream/options.h"
#include "simulate/canary.h"
#include "simulate/sim_client.h"

namespace windrow::simulate {

// Requests with longer prompts are refused.
constexpr int64_t kContextTokens = 512;

// A time in which a server takes no connections, from the start of the process.
struct PlannedOutage {
  Duration from{};
  Duration to{};
};

struct ServerPlan {
  sim_upstream::SimOptions options;
  std::optional<PlannedOutage> outage;
};

// A good one, and what may be wrong with it.
ServerPlan draw_server(Random& random);
std::vector<sim_upstream::FaultRule> draw_server_faults(Random& random);
std::optional<PlannedOutage> draw_outage(Random& random);

// They begin at `now`.
std::vector<SimServer> start_servers(const std::vector<ServerPlan>& plans, TimePoint now,
                                     Canary canary);

}  // namespace windrow::simulate
