// The flags of `windrow rpc-worker` (flag_table.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "app/commands/flag_table.h"
#include "app/settings/serve_options.h"
#include "base/result.h"

namespace windrow::app {

struct RpcWorkerCommand {
  std::string listen = "127.0.0.1:50052";
  std::string device;   // as --device of `run`
  int32_t threads = 0;  // 0: one per core
  bool insecure_network = false;
};

// In the order of the help.
std::span<const Flag<RpcWorkerCommand>> rpc_worker_flags();

// The IPv4 address and the port of --listen. kInvalid for anything else.
Result<ListenAddress> rpc_address(const RpcWorkerCommand& command);

// kInvalid for an address that other machines reach, unless that is wanted.
Result<void> check_rpc_worker(const RpcWorkerCommand& command);

}  // namespace windrow::app
