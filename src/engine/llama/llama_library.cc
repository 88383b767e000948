#include "engine/llama/llama_library.h"

#include <fmt/format.h>
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "engine/llama/hosting_devices.h"
#include "engine/llama/rpc_worker.h"

namespace windrow::engine {
namespace {

constexpr size_t kReasonBytesMax = 600;

// "1.7B", "596M", "12K".
std::string short_count(uint64_t count) {
  constexpr double kBillion = 1e9;
  constexpr double kMillion = 1e6;
  constexpr double kThousand = 1e3;
  const auto number = static_cast<double>(count);
  if (number >= kBillion) return fmt::format("{:.1f}B", number / kBillion);
  if (number >= kMillion) return fmt::format("{:.0f}M", number / kMillion);
  return fmt::format("{:.0f}K", number / kThousand);
}

}  // namespace

std::string in_one_line(std::string_view log) {
  std::string joined;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    constexpr std::string_view kBlanks = " \t\r;";
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (line.empty()) continue;
    if (!joined.empty()) joined += "; ";
    joined += line;
  }
  return joined;
}

Result<std::unique_ptr<LlamaLibrary>> LlamaLibrary::start(
    const std::string& backends_folder, const std::vector<std::string>& rpc_workers) {
  std::unique_ptr<LlamaLibrary> library(new LlamaLibrary());
  llama_log_set(
      [](ggml_log_level level, const char* text, void* self) {
        static_cast<LlamaLibrary*>(self)->take_log_line(level == GGML_LOG_LEVEL_ERROR, text);
      },
      library.get());
  const std::string folder = backends_folder.empty() ? WINDROW_GGML_BACKENDS_DIR : backends_folder;
  if (folder.empty()) {
    ggml_backend_load_all();
  } else {
    ggml_backend_load_all_from_path(folder.c_str());
  }
  llama_backend_init();
  if (ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) == nullptr) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("libllama found no device to run on: no plug-in of {} fits this "
                             "machine; WINDROW_GGML_BACKENDS names another folder",
                             folder.empty() ? "its own folder" : folder)};
  }
  for (const std::string& worker : rpc_workers) {
    if (Result<void> added = library->add_worker(worker); !added)
      return added.error().in(fmt::format("--rpc {}", worker));
  }
  return library;
}

Result<void> LlamaLibrary::add_worker(const std::string& worker) {
  if (Result<void> named = check_worker_name(worker); !named) return named;
  const Result<ggml_backend_reg*> plugin = rpc_plugin();
  if (!plugin) return plugin.error();
  const auto add_server = reinterpret_cast<ggml_backend_reg_t (*)(const char*)>(
      ggml_backend_reg_get_proc_address(*plugin, "ggml_backend_rpc_add_server"));
  if (add_server == nullptr) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("libggml's plug-in for RPC is too old ({})", version())};
  }
  ggml_backend_reg_t devices = nullptr;
  std::optional<std::string> aborted;
  const std::string reason = reason_of_failure(
      [&] { aborted = guard_connection([&] { devices = add_server(worker.c_str()); }); });
  if (devices == nullptr) {
    return Error{
        ErrorKind::kUnavailable,
        fmt::format("no worker answers there ({}); start one on that machine with `windrow "
                    "rpc-worker --listen {}`",
                    aborted ? in_one_line(*aborted) : reason, worker)};
  }
  aborts_.add_worker(worker);
  ggml_backend_register(devices);
  return {};
}

LlamaLibrary::~LlamaLibrary() {
  llama_backend_free();
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
}

std::string LlamaLibrary::version() {
#if WINDROW_HAVE_LLAMA_VERSION
  return fmt::format("libllama {} (built against {})", llama_version(), WINDROW_RUNTIME_VERSION);
#else
  return fmt::format("libllama (built against {})", WINDROW_RUNTIME_VERSION);
#endif
}

std::string LlamaLibrary::built_against() {
  return WINDROW_RUNTIME_VERSION;
}

std::vector<Device> LlamaLibrary::devices() const {
  std::vector<Device> devices;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
    devices.push_back(Device{.name = ggml_backend_dev_name(device),
                             .description = ggml_backend_dev_description(device),
                             .kind = kind_of(*device),
                             .memory_bytes = total_bytes,
                             .memory_free_bytes = free_bytes});
  }
  return devices;
}

void LlamaLibrary::take_log_line(bool is_error, std::string_view text) {
  if (!is_error) return;
  const std::scoped_lock lock(log_mutex_);
  if (errors_.size() < kReasonBytesMax) errors_ += text;
}

std::string LlamaLibrary::reason_of_failure(const std::function<void()>& call) {
  const std::scoped_lock calls(calls_mutex_);
  {
    const std::scoped_lock lock(log_mutex_);
    errors_.clear();
  }
  call();
  const std::scoped_lock lock(log_mutex_);
  const std::string reason = in_one_line(errors_);
  return reason.empty() ? "no reason given"
                        : utf8_repair(std::string_view(reason).substr(0, kReasonBytesMax));
}

std::string described_model(std::string_view description, uint64_t parameters) {
  constexpr std::string_view kGuessed = " (guessed)";
  constexpr std::string_view kNoSize = "?B";
  std::string text(description);
  if (const size_t at = text.find(kGuessed); at != std::string::npos)
    text.erase(at, kGuessed.size());
  if (const size_t at = text.find(kNoSize); at != std::string::npos)
    text.replace(at, kNoSize.size(), short_count(parameters));
  return text;
}

std::string load_failure(std::string_view reason) {
  if (reason.find("not within the file bounds") != std::string_view::npos)
    return fmt::format("the file is cut off, so get it again ({})", reason);
  return std::string(reason);
}

}  // namespace windrow::engine
