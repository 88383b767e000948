// LlamaLibrary: libllama and ggml, started; their devices, and their messages in words that a
// person can use. The library keeps its devices and its log in global state, so there is one of
// these in a process, made in main before any model and destroyed last.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/llama/abort_guard.h"
#include "engine/llama/device_choice.h"
#include "engine/llama/spin_control.h"

namespace windrow::engine {

// The lines of a log as one: "cannot open the file; cannot load the model".
std::string in_one_line(std::string_view log);

// Thread-safe.
class LlamaLibrary {
 public:
  // Loads the plug-ins of all devices from `backends_folder`, or if that is empty from the folder
  // that belongs to this build, and adds the devices of RPC workers, each named HOST:PORT.
  // kUnavailable: there is no usable device, a worker does not answer, or the plug-in for workers
  // is not there. kInvalid: a worker's name is none. Blocks while it connects. When a worker is
  // lost later, the process ends with the exit code 3 (abort_guard.h).
  static Result<std::unique_ptr<LlamaLibrary>> start(
      const std::string& backends_folder, const std::vector<std::string>& rpc_workers = {});

  ~LlamaLibrary();
  LlamaLibrary(const LlamaLibrary&) = delete;
  LlamaLibrary& operator=(const LlamaLibrary&) = delete;

  // The version of libllama, and of the one that this program was built against.
  static std::string version();

  // That one alone: its packages, or the version that the system had.
  static std::string built_against();

  std::vector<Device> devices() const;

  // Every pass runs within its timed().
  SpinControl& spins() { return spins_; }

  // Runs `call` and returns the errors that the library logged in it, shortened to the first lines,
  // or "no reason given": libllama gives reasons only in its log. Thread-safe; one call at a time.
  std::string reason_of_failure(const std::function<void()>& call);

 private:
  LlamaLibrary() = default;

  Result<void> add_worker(const std::string& worker);
  void take_log_line(bool is_error, std::string_view text);

  const AbortWatch aborts_;
  SpinControl spins_;
  std::mutex calls_mutex_;
  std::mutex log_mutex_;
  std::string errors_;
};

// libllama's description of a model ("qwen3 ?B all F32 (guessed)") with its size where libllama has
// no name for it, and without "(guessed)". Pure.
std::string described_model(std::string_view description, uint64_t parameters);

// Why a file could not be loaded: libllama's reason, and what to do where that is known. Pure.
std::string load_failure(std::string_view reason);

}  // namespace windrow::engine
