#include "engine/llama/device_choice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace windrow::engine {
namespace {

const std::vector<Device> kWorkstation = {
    {.name = "Vulkan1", .description = "Iris", .kind = DeviceKind::kIntegratedGpu},
    {.name = "CUDA0", .description = "A100", .kind = DeviceKind::kGpu},
    {.name = "CUDA1", .description = "A100", .kind = DeviceKind::kGpu},
    {.name = "BLAS", .description = "OpenBLAS", .kind = DeviceKind::kOther},
    {.name = "CPU", .description = "EPYC", .kind = DeviceKind::kCpu},
};
constexpr std::string_view kWorkstationHas =
    "; this machine has Vulkan1 (Iris), CUDA0 (A100), CUDA1 (A100), BLAS (OpenBLAS), CPU (EPYC)";

std::string names_of(const std::vector<size_t>& indices, std::span<const Device> devices) {
  std::string names;
  for (const size_t index : indices)
    names += (names.empty() ? "" : " ") + devices[index].name;
  return names;
}

std::string holders(const DeviceChoice& choice, const std::vector<Device>& devices = kWorkstation) {
  const Result<ChosenDevices> chosen = choose_devices(devices, choice);
  return chosen ? names_of(chosen->holders, devices) : chosen.error().message;
}

std::string refusal(const DeviceChoice& choice) {
  const Result<ChosenDevices> chosen = choose_devices(kWorkstation, choice);
  if (chosen) return "accepted";
  const std::string& message = chosen.error().message;
  EXPECT_TRUE(message.ends_with(kWorkstationHas)) << message;
  return message.substr(0, message.find(kWorkstationHas));
}

TEST(DeviceChoice, EveryGpuHoldsAModelUnlessSomethingElseIsAskedFor) {
  EXPECT_EQ(holders({}), "CUDA0 CUDA1");
  EXPECT_EQ(holders({.gpu_layers = 7}), "CUDA0 CUDA1");
  EXPECT_EQ(holders({.split = SplitMode::kNone}), "CUDA0");
  EXPECT_EQ(holders({.names = "cuda1"}), "CUDA1") << "in letters of any case";
  EXPECT_EQ(holders({.names = "CUDA1,Vulkan1"}), "CUDA1 Vulkan1") << "in the order given";
}

TEST(DeviceChoice, AModelKeptOffTheGpuFillsTheMemoryOfTheCpu) {
  EXPECT_EQ(holders({.gpu_layers = 0}), "CPU");
  EXPECT_EQ(holders({.names = "none"}), "CPU");
  EXPECT_EQ(holders({.names = "CPU"}), "CPU");
  EXPECT_EQ(holders({.names = "CUDA1", .gpu_layers = 0}), "CPU");
  EXPECT_EQ(holders({.names = "BLAS"}), "CPU") << "it has no memory of its own";
}

TEST(DeviceChoice, LibllamaIsGivenWhatWasNamed) {
  EXPECT_TRUE(choose_devices(kWorkstation, {})->all);
  const ChosenDevices cpu = *choose_devices(kWorkstation, {.names = "none"});
  EXPECT_FALSE(cpu.all);
  EXPECT_TRUE(cpu.named.empty());
  const ChosenDevices both = *choose_devices(kWorkstation, {.names = "BLAS,CUDA0,CPU"});
  EXPECT_EQ(names_of(both.named, kWorkstation), "BLAS CUDA0");
  EXPECT_EQ(names_of(both.holders, kWorkstation), "CUDA0");
}

TEST(DeviceChoice, AnIntegratedGpuIsUsedWhereThereIsNoOther) {
  EXPECT_EQ(holders({}, {{.name = "BLAS", .kind = DeviceKind::kOther},
                         {.name = "CPU", .kind = DeviceKind::kCpu},
                         {.name = "Vulkan0", .kind = DeviceKind::kIntegratedGpu}}),
            "Vulkan0");
  EXPECT_EQ(holders({}, {{.name = "CPU", .kind = DeviceKind::kCpu}}), "CPU");
}

TEST(DeviceChoice, DevicesOfWorkersComeFirst) {
  EXPECT_EQ(holders({}, {{.name = "CUDA0", .kind = DeviceKind::kGpu},
                         {.name = "CPU", .kind = DeviceKind::kCpu},
                         {.name = "RPC0", .kind = DeviceKind::kRemote}}),
            "RPC0 CUDA0");
}

TEST(DeviceChoice, SharesAreOfTheDevicesInTheirOrder) {
  EXPECT_TRUE(choose_devices(kWorkstation, {})->shares.empty());
  EXPECT_EQ(choose_devices(kWorkstation, {.shares = "3,1.5"})->shares,
            (std::vector<float>{3, 1.5}));
  EXPECT_EQ(choose_devices(kWorkstation, {.shares = "1"})->shares, (std::vector<float>{1, 0}));
  EXPECT_TRUE(choose_devices(kWorkstation, {.gpu_layers = 0, .shares = "1,1"})->shares.empty());
}

TEST(DeviceChoice, WhatCannotBeIsRefusedWithTheDevicesThatThereAre) {
  EXPECT_EQ(refusal({.names = "toaster"}), "there is no device \"toaster\"");
  EXPECT_EQ(refusal({.names = "CUDA0,"}), "there is no device \"\"");
  EXPECT_EQ(refusal({.names = "CUDA0,cuda0"}), "--device CUDA0,cuda0 names cuda0 twice");
  EXPECT_EQ(refusal({.names = "none,CUDA0"}),
            "--device none,CUDA0: none stands for the CPU alone, so no other device can be named "
            "beside it");
  EXPECT_EQ(refusal({.names = "none", .gpu_layers = 8}),
            "--gpu-layers 8: there is no GPU to put them on; leave it out to compute on the CPU "
            "(docs/devices.md says how GPUs are added)");
  EXPECT_EQ(refusal({.shares = "1,1,1"}),
            "--tensor-split 1,1,1 has 3 shares, and the model is divided among 2 devices beside "
            "the CPU");
  EXPECT_EQ(refusal({.split = SplitMode::kNone, .shares = "1,1"}),
            "--tensor-split 1,1 has 2 shares, and the model is divided among 1 devices beside the "
            "CPU");
  EXPECT_EQ(refusal({.shares = "0,0"}), "--tensor-split 0,0 gives nothing to any device");
  for (const char* shares : {"a", "1,", "-1,2", "1;2", "nan", "inf"}) {
    EXPECT_TRUE(
        refusal({.shares = shares})
            .starts_with(fmt::format("--tensor-split {} must be numbers from 0 up", shares)));
  }
}

TEST(DeviceChoice, CellsFitUntilTheFirstDeviceIsFull) {
  const std::vector<uint64_t> free = {100, 300};
  EXPECT_EQ(shared_free_bytes(free, {}), 400U) << "divided by the free memory, they fill alike";
  EXPECT_EQ(shared_free_bytes(free, std::vector<float>{1, 1}), 200U);
  EXPECT_EQ(shared_free_bytes(free, std::vector<float>{1, 3}), 400U);
  EXPECT_EQ(shared_free_bytes(free, std::vector<float>{0, 1}), 300U);
}

}  // namespace
}  // namespace windrow::engine
