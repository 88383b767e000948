// Which devices hold a model: what was asked for, what this machine has, and what libllama makes of
// it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::engine {

enum class DeviceKind : uint8_t {
  kCpu,
  kGpu,
  kIntegratedGpu,
  kRemote,  // of an RPC worker
  kOther,   // computes on the memory of the CPU (BLAS)
};

struct Device {
  std::string name;         // the value of --device
  std::string description;  // its maker's name for it; of a remote one, where its worker is
  DeviceKind kind = DeviceKind::kOther;
  uint64_t memory_bytes = 0;
  uint64_t memory_free_bytes = 0;
};

// How a model is divided among several devices.
enum class SplitMode : uint8_t {
  kNone,   // not at all: it is on the first
  kLayer,  // whole layers, each with its cells
  kRow,    // the rows of each matrix, where the devices can do that
};

struct DeviceChoice {
  std::string names = {};   // of devices, with commas; "none": the CPU alone; empty: every GPU
  int32_t gpu_layers = -1;  // layers on them, the others on the CPU; -1: all
  SplitMode split = SplitMode::kLayer;
  std::string shares = {};  // of each device, with commas ("3,1"); empty: by their free memory
};

struct ChosenDevices {
  // Indices of what was named, for libllama; the CPU is left out, as it is always there. Used only
  // where `all` is not set.
  std::vector<size_t> named = {};
  bool all = true;  // nothing was named: libllama takes what it finds

  // Indices of the devices whose memory holds layers and cells, in the order of `shares`; the CPU
  // alone where no other does.
  std::vector<size_t> holders = {};
  std::vector<float> shares = {};  // of the holders; empty: by their free memory
};

// `devices`: what this machine has, of which one is a CPU. Names may be written in letters of any
// case. kInvalid: a device that is not there or is named twice, layers for a GPU where there is
// none, shares that are no numbers or too many; the message lists the devices.
Result<ChosenDevices> choose_devices(std::span<const Device> devices, const DeviceChoice& choice);

// "CPU (AMD Ryzen), Vulkan0 (Radeon)".
std::string listed(std::span<const Device> devices);

// The memory for cells when each device holds its share of them: as much as fits until the first of
// them is full. `shares` as in ChosenDevices.
uint64_t shared_free_bytes(std::span<const uint64_t> free_bytes, std::span<const float> shares);

}  // namespace windrow::engine
