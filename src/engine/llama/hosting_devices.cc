#include "engine/llama/hosting_devices.h"

#include <ggml-backend.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

DeviceMemory asked_of(ggml_backend_device& device) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ggml_backend_dev_memory(&device, &free_bytes, &total_bytes);
  return DeviceMemory{.used_bytes = total_bytes - std::min(free_bytes, total_bytes),
                      .max_bytes = total_bytes};
}

}  // namespace

DeviceKind kind_of(ggml_backend_device& device) {
  const ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(&device);
  if (reg != nullptr && std::string_view(ggml_backend_reg_name(reg)) == "RPC")
    return DeviceKind::kRemote;
  switch (ggml_backend_dev_type(&device)) {
    case GGML_BACKEND_DEVICE_TYPE_CPU:
      return DeviceKind::kCpu;
    case GGML_BACKEND_DEVICE_TYPE_GPU:
      return DeviceKind::kGpu;
    case GGML_BACKEND_DEVICE_TYPE_IGPU:
      return DeviceKind::kIntegratedGpu;
    default:
      return DeviceKind::kOther;
  }
}

HostingDevices::HostingDevices(std::vector<ggml_backend_device*> devices, std::vector<float> shares)
    : devices_(std::move(devices)), shares_(std::move(shares)), remote_(devices_.size()) {
  ENSURE(!devices_.empty(), "a model is on no device");
  ENSURE(shares_.empty() || shares_.size() == devices_.size(), "{} shares of {} devices",
         shares_.size(), devices_.size());
  for (size_t i = 0; i < devices_.size(); ++i)
    if (kind_of(*devices_[i]) == DeviceKind::kRemote) remote_[i] = asked_of(*devices_[i]);
}

uint64_t HostingDevices::free_bytes() const {
  std::vector<uint64_t> free_bytes;
  for (size_t i = 0; i < devices_.size(); ++i) {
    const DeviceMemory memory = memory_of(i);
    free_bytes.push_back(memory.max_bytes - memory.used_bytes);
  }
  return shared_free_bytes(free_bytes, shares_);
}

DeviceMemory HostingDevices::memory() const {
  DeviceMemory sum;
  for (size_t i = 0; i < devices_.size(); ++i) {
    const DeviceMemory memory = memory_of(i);
    sum.used_bytes += memory.used_bytes;
    sum.max_bytes += memory.max_bytes;
  }
  return sum;
}

bool HostingDevices::is_cpu() const {
  return devices_.size() == 1 && kind_of(*devices_.front()) == DeviceKind::kCpu;
}

DeviceMemory HostingDevices::memory_of(size_t index) const {
  return remote_[index].max_bytes > 0 ? remote_[index] : asked_of(*devices_[index]);
}

}  // namespace windrow::engine
