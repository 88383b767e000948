#include "app/commands/rpc_worker_options.h"

#include <fmt/format.h>

#include <array>

namespace windrow::app {
namespace {

constexpr int32_t kWorkerThreadsMax = 512;

const std::array<Flag<RpcWorkerCommand>, 4> kRpcWorkerFlags = {{
    {.name = "listen",
     .value_name = "HOST:PORT",
     .help = "IPv4 address and port (default: 127.0.0.1:50052)",
     .set = set_text<&RpcWorkerCommand::listen>},
    {.name = "device",
     .value_name = "NAME,...",
     .help = "devices to serve, as `windrow inspect` names them (default: every GPU, else the CPU)",
     .set = set_text<&RpcWorkerCommand::device>},
    {.name = "threads",
     .value_name = "N",
     .help = "CPU threads (default: one per core)",
     .set = set_number_in<&RpcWorkerCommand::threads, 1, kWorkerThreadsMax>},
    {.name = "insecure-network",
     .help = "allow --listen to be an address that other machines reach: RPC has no authentication",
     .set = set_switch<&RpcWorkerCommand::insecure_network>},
}};

}  // namespace

std::span<const Flag<RpcWorkerCommand>> rpc_worker_flags() {
  return kRpcWorkerFlags;
}

Result<ListenAddress> rpc_address(const RpcWorkerCommand& command) {
  Result<ListenAddress> address = parse_listen(command.listen);
  if (!address) return address.error();
  if (address->host == "localhost") address->host = "127.0.0.1";
  const bool is_name = address->host.find_first_not_of("0123456789.") != std::string::npos;
  if (is_name || address->port == 0) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--listen {} must be an IPv4 address of this machine and a port from "
                             "1 up, such as 127.0.0.1:50052",
                             command.listen)};
  }
  return address;
}

Result<void> check_rpc_worker(const RpcWorkerCommand& command) {
  const Result<ListenAddress> address = rpc_address(command);
  if (!address) return address.error();
  if (is_loopback(address->host) || command.insecure_network) return {};
  return Error{
      ErrorKind::kInvalid,
      fmt::format("--listen {}: other machines can reach this address, and RPC has neither "
                  "authentication nor encryption, so whoever reaches it reads and writes "
                  "the worker's memory; listen on 127.0.0.1 and use an SSH tunnel, or add "
                  "--insecure-network where all machines of the network are yours",
                  command.listen)};
}

}  // namespace windrow::app
