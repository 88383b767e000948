// Residence: of a model here that comes when it is asked for and leaves when others need the room:
// whether it is there, and what somebody who runs the server may do about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace windrow::api {

enum class ResidenceState : uint8_t { kAbsent, kLoading, kLoaded, kUnloading };

// "not_loaded", "loading", "loaded", "unloading".
constexpr std::string_view to_string(ResidenceState state) {
  switch (state) {
    case ResidenceState::kLoading:
      return "loading";
    case ResidenceState::kLoaded:
      return "loaded";
    case ResidenceState::kUnloading:
      return "unloading";
    case ResidenceState::kAbsent:
      break;
  }
  return "not_loaded";
}

// Now, and since the start.
struct ResidenceReading {
  ResidenceState state = ResidenceState::kAbsent;
  uint64_t memory_bytes = 0;  // of one that is not there: what it is likely to need
  bool kept = false;          // it never leaves
  bool wanted = false;        // it is to be loaded, as soon as that can be
  int32_t requests = 0;       // inside it
  int32_t waiting = 0;        // requests that wait for it to come
  int64_t loads = 0;
  int64_t loads_failed = 0;
  int64_t unloads = 0;
  double load_seconds = 0;  // of all loads together
  std::string load_error;   // why the last load failed; empty: it did not, or there was none
};

// What becomes of an order to unload.
enum class Unloading : uint8_t {
  kLeaves,  // now, or as soon as another one has come or gone; or it is not there
  kInUse,   // requests are inside or wait: it stays
  kKept,    // it never leaves
};

// Thread-safe; none of it blocks.
class Residence {
 public:
  virtual ~Residence() = default;

  virtual ResidenceReading read() const = 0;

  // As if somebody asked for it.
  virtual void load() = 0;

  virtual Unloading unload() = 0;

  // The model leaves as soon as no request is inside it, unless one comes before that; requests
  // that are inside already do not keep it. A model that never leaves stays.
  virtual void unload_when_unused() = 0;
};

}  // namespace windrow::api
