// LlamaLibrary: libllama and ggml, started. The library keeps its devices and its log in global
// state, so there is one of these in a process, made in main before any model and destroyed last.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/llama/abort_guard.h"
#include "engine/llama/spin_control.h"

namespace windrow::engine {

enum class DeviceKind : uint8_t { kCpu, kGpu, kIntegratedGpu, kOther };

struct Device {
  std::string name;         // as --device takes it
  std::string description;  // as its maker calls it
  DeviceKind kind = DeviceKind::kOther;
  uint64_t memory_bytes = 0;
  uint64_t memory_free_bytes = 0;
};

// What a log said in several lines, in one: "cannot open the file; cannot load the model".
std::string in_one_line(std::string_view log);

class LlamaLibrary {
 public:
  // Loads the plug-ins of all devices: from `backends_folder`, or when that is empty from the
  // folder that belongs to this build. kUnavailable when there is no usable device.
  static Result<std::unique_ptr<LlamaLibrary>> start(const std::string& backends_folder);

  ~LlamaLibrary();
  LlamaLibrary(const LlamaLibrary&) = delete;
  LlamaLibrary& operator=(const LlamaLibrary&) = delete;

  // Which libllama this is and which it was built against.
  static std::string version();

  std::vector<Device> devices() const;

  // Told of each pass by whatever runs one.
  SpinControl& spins() { return spins_; }

  // The library says why only in its log. `call` runs with errors collected; the result is what it
  // said, shortened to its first lines, or "no reason given". Thread-safe, one call at a time.
  std::string reason_of_failure(const std::function<void()>& call);

 private:
  LlamaLibrary() = default;

  void take_log_line(bool is_error, std::string_view text);

  const AbortWatch aborts_;
  SpinControl spins_;
  std::mutex calls_mutex_;
  std::mutex log_mutex_;
  std::string errors_;
};

}  // namespace windrow::engine
