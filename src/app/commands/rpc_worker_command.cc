#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/rpc_worker_options.h"
#include "app/settings/fleet_settings.h"
#include "base/ensure.h"
#include "engine/llama/device_choice.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/rpc_worker.h"

namespace windrow::app {

int rpc_worker_command(const RpcWorkerCommand& command) {
  const Result<ListenAddress> address = rpc_address(command);
  ENSURE(address, "{} came through check_rpc_worker", command.listen);
  const auto library = engine::LlamaLibrary::start(backends_folder());
  if (!library) {
    fmt::print(stderr, "windrow: {}\n", library.error().message);
    return 3;
  }
  const std::vector<engine::Device> known = (*library)->devices();
  const Result<engine::ChosenDevices> chosen =
      engine::choose_devices(known, {.names = command.device});
  if (!chosen) {
    fmt::print(stderr, "windrow: {}\n", chosen.error().message);
    return 2;
  }
  std::vector<engine::Device> served;
  for (const size_t holder : chosen->holders)
    served.push_back(known[holder]);
  fmt::print("serving {} at {}:{}\n", engine::listed(served), address->host, address->port);
  std::fflush(stdout);
  // A client that is killed is no reason to end.
  std::signal(SIGPIPE, SIG_IGN);
  const Error error = engine::serve_rpc(**library, {.host = address->host,
                                                    .port = address->port,
                                                    .devices = command.device,
                                                    .threads = command.threads});
  fmt::print(stderr, "windrow: {}\n", error.message);
  return error.kind == ErrorKind::kInvalid ? 2 : 3;
}

}  // namespace windrow::app
