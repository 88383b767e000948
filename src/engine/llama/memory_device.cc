#include "engine/llama/memory_device.h"

#include <algorithm>
#include <array>

#include "base/ensure.h"

namespace windrow::engine {

size_t memory_device(std::span<const Device> devices, const LlamaModelOptions& options) {
  // As libllama chooses: an integrated GPU only where there is no other.
  constexpr std::array kGpusFirst = {DeviceKind::kGpu, DeviceKind::kIntegratedGpu};
  if (options.gpu_layers != 0) {
    for (const DeviceKind kind : kGpusFirst) {
      const auto gpu = std::ranges::find_if(devices, [&](const Device& device) {
        return device.kind == kind && (options.device.empty() || device.name == options.device);
      });
      if (gpu != devices.end()) return static_cast<size_t>(gpu - devices.begin());
    }
  }
  // Whatever else was named only computes: it works on the memory of the CPU.
  const auto cpu = std::ranges::find(devices, DeviceKind::kCpu, &Device::kind);
  ENSURE(cpu != devices.end(), "none of {} devices is a CPU", devices.size());
  return static_cast<size_t>(cpu - devices.begin());
}

}  // namespace windrow::engine
