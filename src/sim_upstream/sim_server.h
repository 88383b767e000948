// SimServer: a SimulatedUpstream behind a port. It hands requests in, waits for the time of the
// next event, and delivers replies as they say: whole, broken off, or slowly. It decides nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "http/loop.h"
#include "sim_upstream/options.h"
#include "sim_upstream/sim_stats.h"

namespace windrow::sim_upstream {

struct SimServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any that is free
  SimOptions sim;

  // Every call of a model gets one prepared reply at once and its body is not even looked at: for
  // measuring clients. Nothing of `sim` counts then but the models it tells.
  bool instant = false;
};

class SimServer {
 public:
  // Listens from now on. `loop` must outlive it; its clock is the simulated server's time. Errors
  // as http::Server::open.
  static Result<std::unique_ptr<SimServer>> open(http::Loop& loop, SimServerOptions options);

  // As stop(Duration{}). Not on the loop's thread.
  ~SimServer();
  SimServer(const SimServer&) = delete;
  SimServer& operator=(const SimServer&) = delete;

  uint16_t port() const;

  // Lets what is in flight be answered, for `grace` at most. Blocks; not on the loop's thread.
  void stop(Duration grace);

  // Any thread.
  SimStats stats() const;

 private:
  class Core;

  explicit SimServer(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace windrow::sim_upstream
