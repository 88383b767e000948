#include "engine/llama/memory_device.h"

#include <gtest/gtest.h>

#include <vector>

namespace windrow::engine {
namespace {

const std::vector<Device> kWorkstation = {
    {.name = "Vulkan1", .kind = DeviceKind::kIntegratedGpu},
    {.name = "CUDA0", .kind = DeviceKind::kGpu},
    {.name = "CUDA1", .kind = DeviceKind::kGpu},
    {.name = "BLAS", .kind = DeviceKind::kOther},
    {.name = "CPU", .kind = DeviceKind::kCpu},
};

std::string device_for(const LlamaModelOptions& options,
                       const std::vector<Device>& devices = kWorkstation) {
  return devices[memory_device(devices, options)].name;
}

TEST(MemoryDevice, ItIsTheFirstGpuUnlessSomethingElseIsAskedFor) {
  EXPECT_EQ(device_for({}), "CUDA0");
  EXPECT_EQ(device_for({.gpu_layers = 7}), "CUDA0");
  EXPECT_EQ(device_for({.device = "CUDA1"}), "CUDA1");
  EXPECT_EQ(device_for({.device = "Vulkan1"}), "Vulkan1");
}

TEST(MemoryDevice, AModelKeptOffTheGpuFillsTheMemoryOfTheCpu) {
  EXPECT_EQ(device_for({.gpu_layers = 0}), "CPU");
  EXPECT_EQ(device_for({.device = "CPU"}), "CPU");
  EXPECT_EQ(device_for({.gpu_layers = 0, .device = "CUDA1"}), "CPU");
  EXPECT_EQ(device_for({.device = "BLAS"}), "CPU") << "it has no memory of its own";
}

TEST(MemoryDevice, AnIntegratedGpuIsUsedWhereThereIsNoOther) {
  EXPECT_EQ(device_for({}, {{.name = "BLAS", .kind = DeviceKind::kOther},
                            {.name = "CPU", .kind = DeviceKind::kCpu},
                            {.name = "Vulkan0", .kind = DeviceKind::kIntegratedGpu}}),
            "Vulkan0");
  EXPECT_EQ(device_for({}, {{.name = "CPU", .kind = DeviceKind::kCpu}}), "CPU");
}

}  // namespace
}  // namespace windrow::engine
