// ModelStatus: whether a model of this process is in memory, and how often it was loaded.
// ModelResidency: what is read and changed of that, by pages, by metrics and by the owner of a
// server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace windrow::llm {

enum class LoadState : uint8_t { kAbsent, kLoading, kLoaded, kUnloading };

// "not_loaded", "loading", "loaded", "unloading".
constexpr std::string_view to_string(LoadState state) {
  switch (state) {
    case LoadState::kLoading:
      return "loading";
    case LoadState::kLoaded:
      return "loaded";
    case LoadState::kUnloading:
      return "unloading";
    case LoadState::kAbsent:
      break;
  }
  return "not_loaded";
}

// Gauges of this moment, and counters since the start of the process.
struct ModelStatus {
  LoadState state = LoadState::kAbsent;
  uint64_t memory_bytes = 0;  // of a model that is not loaded: an estimate
  bool pinned = false;        // it is never unloaded
  bool wanted = false;        // it will be loaded as soon as there is room
  int32_t requests = 0;       // running in it
  int32_t waiting = 0;        // requests that wait until it is loaded
  int64_t loads = 0;
  int64_t loads_failed = 0;
  int64_t unloads = 0;
  double load_seconds = 0;  // of all successful loads together
  std::string load_error;   // why the last load failed, in words for clients; empty: it did not
};

// What an order to unload leads to.
enum class UnloadResult : uint8_t {
  kUnloading,  // now, or as soon as another load or unload has ended
  kAbsent,     // it is not loaded
  kInUse,      // requests run in it or wait for it: it stays
  kPinned,     // it is never unloaded
};

// One model that may be loaded and unloaded. Thread-safe; no method blocks.
class ModelResidency {
 public:
  virtual ~ModelResidency() = default;

  virtual ModelStatus status() const = 0;

  // Loads the model as a request for it would. What came of it shows in status().
  virtual void load() = 0;

  virtual UnloadResult unload() = 0;

  // Unloads the model as soon as no request runs in it, unless a new one arrives before that;
  // requests that run in it already do not keep it loaded. A pinned model stays.
  virtual void unload_when_unused() = 0;
};

}  // namespace windrow::llm
