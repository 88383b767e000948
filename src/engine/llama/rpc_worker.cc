#include "engine/llama/rpc_worker.h"

#include <fmt/format.h>
#include <ggml-backend.h>

#include <charconv>
#include <vector>

#include "engine/host/cpu_count.h"
#include "engine/llama/device_choice.h"

namespace windrow::engine {
namespace {

constexpr int kPortMax = 65'535;

// ggml_backend_rpc_start_server, which can only be had by its name.
using StartServer = void (*)(const char* endpoint, const char* cache_folder, size_t threads,
                             size_t devices_count, ggml_backend_dev_t* devices);

}  // namespace

Result<ggml_backend_reg*> rpc_plugin() {
  ggml_backend_reg_t plugin = ggml_backend_reg_by_name("RPC");
  if (plugin != nullptr) return plugin;
  return Error{ErrorKind::kUnavailable,
               "libggml's plug-in for RPC is not installed; `./setup --device rpc` or the package "
               "libggml0-backend-rpc has it (docs/devices.md)"};
}

Result<void> check_worker_name(std::string_view name) {
  const size_t colon = name.find(':');
  const std::string_view digits = colon == std::string_view::npos ? "" : name.substr(colon + 1);
  int port = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool is_number = failed == std::errc() && end == digits.data() + digits.size();
  if (colon != 0 && is_number && port >= 1 && port <= kPortMax) return {};
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{} must be HOST:PORT, where the host is a name or an IPv4 address, such "
                  "as 10.0.0.2:50052",
                  name)};
}

Error serve_rpc(LlamaLibrary& library, const RpcWorkerOptions& options) {
  const Result<ggml_backend_reg*> plugin = rpc_plugin();
  if (!plugin) return plugin.error();
  const std::vector<Device> known = library.devices();
  const Result<ChosenDevices> chosen = choose_devices(known, {.names = options.devices});
  if (!chosen) return chosen.error();
  std::vector<ggml_backend_dev_t> devices;
  for (const size_t holder : chosen->holders)
    devices.push_back(ggml_backend_dev_get(holder));
  const auto start = reinterpret_cast<StartServer>(
      ggml_backend_reg_get_proc_address(*plugin, "ggml_backend_rpc_start_server"));
  if (start == nullptr) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("libggml's plug-in for RPC cannot serve ({})", library.version())};
  }
  const std::string endpoint = fmt::format("{}:{}", options.host, options.port);
  const int32_t threads = options.threads != 0 ? options.threads : usable_cores();
  const std::string reason = library.reason_of_failure([&] {
    start(endpoint.c_str(), nullptr, static_cast<size_t>(threads), devices.size(), devices.data());
  });
  return Error{
      ErrorKind::kUnavailable,
      fmt::format("cannot serve at {} ({}): is the port free, and is it an IPv4 address of "
                  "this machine?",
                  endpoint, reason)};
}

}  // namespace windrow::engine
