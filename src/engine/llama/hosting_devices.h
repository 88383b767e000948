// HostingDevices: the devices of libggml whose memory holds a model and its cells.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/host/model_runner.h"
#include "engine/llama/device_choice.h"

struct ggml_backend_device;

namespace windrow::engine {

// A remote device calls itself a GPU, whatever its worker has.
DeviceKind kind_of(ggml_backend_device& device);

// Const and thread-safe. What RPC workers have is asked for once, when this is made: each question
// is a message to them and back.
class HostingDevices {
 public:
  // At least one device. `shares`: as in ChosenDevices.
  explicit HostingDevices(std::vector<ggml_backend_device*> devices,
                          std::vector<float> shares = {});

  // The memory for cells (shared_free_bytes).
  uint64_t free_bytes() const;

  // Of all together.
  DeviceMemory memory() const;

  bool is_cpu() const;

 private:
  DeviceMemory memory_of(size_t index) const;

  std::vector<ggml_backend_device*> devices_;
  std::vector<float> shares_;
  std::vector<DeviceMemory> remote_;  // of the remote ones, at their index
};

}  // namespace windrow::engine
