#include "fleet/model_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "engine/sim/sim_options.h"

namespace windrow::fleet {
namespace {

constexpr uint64_t kHashedBytes = 1 << 20;

}  // namespace

bool is_simulated(const ModelChoice& choice) {
  return engine::sim::is_sim(choice.path);
}

std::string served_name(const ModelChoice& choice) {
  if (!choice.name.empty()) return choice.name;
  if (is_simulated(choice)) return "sim";
  const std::string stem = std::filesystem::path(choice.path).stem().string();
  return stem.empty() ? choice.path : stem;
}

Result<std::string> model_identity(const std::string& path) {
  if (engine::sim::is_sim(path)) {
    const Result<engine::sim::SimOptions> model = engine::sim::parse_sim(path);
    if (!model) return model.error();
    return engine::sim::describe_answers(*model);
  }
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) {
    return Error{ErrorKind::kNotFound, fmt::format("{}: the model file cannot be read", path)};
  }
  std::string ends(std::min(size, 2 * kHashedBytes), '\0');
  const uint64_t first = std::min(size, kHashedBytes);
  file.read(ends.data(), static_cast<std::streamsize>(first));
  file.seekg(static_cast<std::streamoff>(size - (ends.size() - first)));
  file.read(ends.data() + first, static_cast<std::streamsize>(ends.size() - first));
  return fmt::format("{}, {} bytes, {}", std::filesystem::path(path).filename().string(), size,
                     to_hex(hash64(ends, size)));
}

uint64_t adapter_bytes(const ModelChoice& choice) {
  uint64_t bytes = 0;
  for (const engine::AdapterChoice& adapter : choice.adapters) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(adapter.path, error);
    bytes += error ? 0 : size;
  }
  return bytes;
}

}  // namespace windrow::fleet
