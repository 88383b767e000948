// Traffic: good and bad clients at a server, for so long, by a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "http/client.h"
#include "load/good_client.h"

namespace windrow::load {

struct TrafficOptions {
  uint16_t port = 0;
  uint64_t seed = 1;
  Duration time{};
  int good = 12;
  int bad = 8;
};

// Blocks until all clients have ended. `client` may be used by all.
void run_traffic(http::Client& client, const std::vector<Question>& questions,
                 const TrafficOptions& options, Findings& findings);

}  // namespace windrow::load
