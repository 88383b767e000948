#include "app/commands/commands.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <string_view>

#include "app/process/open_files.h"
#include "app/process/signals.h"
#include "app/settings/serve_options.h"
#include "base/clock.h"
#include "http/loop.h"
#include "sim_upstream/sim_server.h"
#include "sim_upstream/sim_stats.h"

namespace windrow::app {
namespace {

constexpr Duration kGrace = std::chrono::seconds(5);

}  // namespace

int sim_upstream_command(const SimUpstreamCommand& command) {
  // Signals first: threads made later inherit that they are watched.
  std::latch stop(1);
  const SignalWatch signals([&](std::string_view) { stop.count_down(); }, [] { std::_Exit(130); });
  if (const Result<uint64_t> files_max = raise_open_files(); !files_max) {
    fmt::print(stderr, "windrow: {}\n", files_max.error().message);
    return 2;
  }
  const SystemClock clock;
  http::Loop loop(clock);
  const auto server = sim_upstream::SimServer::open(loop, command.server);
  if (!server) {
    fmt::print(stderr, "windrow: {}\n", server.error().message);
    return 2;
  }
  fmt::print("{}/v1\n", local_url({command.server.address, (*server)->port()}, false));
  std::fflush(stdout);
  stop.wait();
  (*server)->stop(kGrace);
  if (command.stats)
    fmt::print("{}\n", boost::json::serialize(sim_upstream::to_json((*server)->stats())));
  return 0;
}

}  // namespace windrow::app
