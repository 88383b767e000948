// SimServer: a SimulatedUpstream behind a port. It passes requests in, waits for the time of the
// next event, and delivers replies the way they ask for: whole, broken off, or slowly. It decides
// nothing. It runs on its http::Loop; other threads may call what says so.
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

  // Answers every call of a model at once with one prepared reply, without reading its body: for
  // measuring clients. Of `sim` only the list of models is used then.
  bool instant = false;
};

class SimServer {
 public:
  // Listens from now on. `loop` must outlive the server; its clock is the simulated server's time.
  // Errors as http::Server::open.
  static Result<std::unique_ptr<SimServer>> open(http::Loop& loop, SimServerOptions options);

  // As stop(Duration{}). Not on the loop's thread.
  ~SimServer();
  SimServer(const SimServer&) = delete;
  SimServer& operator=(const SimServer&) = delete;

  uint16_t port() const;

  // Answers requests in flight, for `grace` at most, and stops. Blocks; not on the loop's thread.
  void stop(Duration grace);

  // Any thread; waits for the loop.
  SimStats stats() const;

 private:
  class Core;

  explicit SimServer(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace windrow::sim_upstream
