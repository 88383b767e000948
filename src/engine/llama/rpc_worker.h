// RPC: libggml's way to compute on the devices of other machines. A worker there holds a part of a
// model and runs its operations; who uses it sees its devices as if they were here. The protocol
// has neither authentication nor encryption, and a worker serves one client at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/llama/llama_library.h"

struct ggml_backend_reg;

namespace windrow::engine {

struct RpcWorkerOptions {
  std::string host = "127.0.0.1";  // an IPv4 address of this machine
  uint16_t port = 0;
  std::string devices = {};  // as DeviceChoice::names
  int32_t threads = 0;       // of the CPU; 0: the cores this process may use
};

// Serves the devices of this machine, one client after the other, until the process ends. Blocks.
// Returns only errors: kInvalid for devices that are not there, kUnavailable without the plug-in
// for RPC or when it cannot listen.
Error serve_rpc(LlamaLibrary& library, const RpcWorkerOptions& options);

// libggml's plug-in for RPC. kUnavailable: it is not installed. Needs a LlamaLibrary.
Result<ggml_backend_reg*> rpc_plugin();

// The name of a worker is HOST:PORT, where the host is a name or an IPv4 address; kInvalid for
// anything else. Pure.
Result<void> check_worker_name(std::string_view name);

}  // namespace windrow::engine
