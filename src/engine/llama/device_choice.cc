#include "engine/llama/device_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <ranges>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

constexpr std::string_view kNoDevice = "none";

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  for (const auto part : std::views::split(text, ','))
    parts.emplace_back(part.begin(), part.end());
  return parts;
}

Error wrong_choice(std::string_view what, std::span<const Device> devices) {
  return Error{ErrorKind::kInvalid, fmt::format("{}; this machine has {}", what, listed(devices))};
}

Result<std::vector<size_t>> named_devices(std::span<const Device> devices,
                                          const DeviceChoice& choice) {
  std::vector<size_t> named;
  const std::vector<std::string_view> names = parts_of(choice.names);
  for (const std::string_view name : names) {
    if (equal_ignoring_case(name, kNoDevice)) {
      if (names.size() == 1) return named;
      return wrong_choice(fmt::format("--device {}: none stands for the CPU alone, so no other "
                                      "device can be named beside it",
                                      choice.names),
                          devices);
    }
    const auto found = std::ranges::find_if(
        devices, [&](const Device& device) { return equal_ignoring_case(device.name, name); });
    if (found == devices.end())
      return wrong_choice(fmt::format("there is no device \"{}\"", name), devices);
    const auto index = static_cast<size_t>(found - devices.begin());
    if (std::ranges::find(named, index) != named.end())
      return wrong_choice(fmt::format("--device {} names {} twice", choice.names, name), devices);
    named.push_back(index);
  }
  std::erase_if(named, [&](size_t index) { return devices[index].kind == DeviceKind::kCpu; });
  return named;
}

// As libllama takes them: remote ones first, and an integrated GPU only where there is no other.
std::vector<size_t> default_holders(std::span<const Device> devices) {
  std::vector<size_t> holders;
  const auto add = [&](DeviceKind kind) {
    for (size_t i = 0; i < devices.size(); ++i)
      if (devices[i].kind == kind) holders.push_back(i);
  };
  add(DeviceKind::kRemote);
  add(DeviceKind::kGpu);
  if (holders.empty()) add(DeviceKind::kIntegratedGpu);
  return holders;
}

bool holds_layers(DeviceKind kind) {
  return kind == DeviceKind::kRemote || kind == DeviceKind::kGpu ||
         kind == DeviceKind::kIntegratedGpu;
}

std::optional<float> share_of(std::string_view text) {
  float share = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::isfinite(share) && share >= 0 ? std::optional(share) : std::nullopt;
}

Result<std::vector<float>> shares_of(std::span<const Device> devices, const DeviceChoice& choice,
                                     size_t holders) {
  std::vector<float> shares;
  float sum = 0;
  for (const std::string_view part : parts_of(choice.shares)) {
    const std::optional<float> share = share_of(part);
    if (!share) {
      return wrong_choice(
          fmt::format("--tensor-split {} must be numbers from 0 up with commas between them, one "
                      "for each device: 3,1 puts three quarters on the first",
                      choice.shares),
          devices);
    }
    shares.push_back(*share);
    sum += *share;
  }
  if (shares.empty()) return shares;
  if (holders == 0 || shares.size() > holders) {
    return wrong_choice(fmt::format("--tensor-split {} has {} shares, and the model is divided "
                                    "among {} devices beside the CPU",
                                    choice.shares, shares.size(), holders),
                        devices);
  }
  if (sum <= 0) {
    return wrong_choice(fmt::format("--tensor-split {} gives nothing to any device", choice.shares),
                        devices);
  }
  shares.resize(holders, 0);  // as libllama reads them
  return shares;
}

}  // namespace

std::string listed(std::span<const Device> devices) {
  std::string text;
  for (const Device& device : devices) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", device.name, device.description);
  }
  return text;
}

Result<ChosenDevices> choose_devices(std::span<const Device> devices, const DeviceChoice& choice) {
  ChosenDevices chosen{.all = choice.names.empty()};
  if (chosen.all) {
    chosen.holders = default_holders(devices);
  } else {
    Result<std::vector<size_t>> named = named_devices(devices, choice);
    if (!named) return named.error();
    chosen.named = *std::move(named);
    std::ranges::copy_if(chosen.named, std::back_inserter(chosen.holders),
                         [&](size_t index) { return holds_layers(devices[index].kind); });
  }
  if (choice.gpu_layers > 0 && chosen.holders.empty()) {
    return wrong_choice(fmt::format("--gpu-layers {}: there is no GPU to put them on; leave it out "
                                    "to compute on the CPU (docs/devices.md says how GPUs are "
                                    "added)",
                                    choice.gpu_layers),
                        devices);
  }
  if (choice.split == SplitMode::kNone && chosen.holders.size() > 1) chosen.holders.resize(1);
  Result<std::vector<float>> shares = shares_of(devices, choice, chosen.holders.size());
  if (!shares) return shares.error();
  chosen.shares = *std::move(shares);
  if (chosen.holders.empty() || choice.gpu_layers == 0) {
    // What else was named only computes: it works on the memory of the CPU.
    const auto cpu = std::ranges::find(devices, DeviceKind::kCpu, &Device::kind);
    ENSURE(cpu != devices.end(), "none of {} devices is a CPU", devices.size());
    chosen.holders = {static_cast<size_t>(cpu - devices.begin())};
    chosen.shares.clear();
  }
  return chosen;
}

uint64_t shared_free_bytes(std::span<const uint64_t> free_bytes, std::span<const float> shares) {
  double sum = 0;
  for (const uint64_t bytes : free_bytes)
    sum += static_cast<double>(bytes);
  if (shares.empty()) return static_cast<uint64_t>(sum);
  double shares_sum = 0;
  for (const float share : shares)
    shares_sum += static_cast<double>(share);
  double fits = sum;
  for (size_t i = 0; i < free_bytes.size(); ++i) {
    const double share = static_cast<double>(shares[i]) / shares_sum;
    if (share > 0) fits = std::min(fits, static_cast<double>(free_bytes[i]) / share);
  }
  return static_cast<uint64_t>(fits);
}

}  // namespace windrow::engine
