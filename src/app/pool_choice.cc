#include "app/pool_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "app/memory_size.h"
#include "base/format.h"

namespace windrow::app {
namespace {

// Less memory than this (in bytes) is taken for a number whose unit was forgotten.
constexpr uint64_t kMemoryMin = 1'000'000;

Error invalid_pool_choice(std::string message) {
  return Error{ErrorKind::kInvalid, std::move(message)};
}

Result<std::vector<bool>> marked(std::string_view flag, const std::vector<std::string>& wanted,
                                 std::span<const std::string> names) {
  std::vector<bool> marks(names.size());
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      return invalid_pool_choice(fmt::format("--{} {}: no model is called that; there is {}", flag,
                                             name, fmt::join(names, ", ")));
    }
    marks[static_cast<size_t>(found - names.begin())] = true;
  }
  return marks;
}

}  // namespace

Result<PoolChoice> pool_choice(const Settings& settings, std::span<const std::string> names) {
  PoolChoice choice;
  if (!settings.memory.empty()) {
    const std::optional<uint64_t> bytes = parse_memory_size(settings.memory);
    if (!bytes || *bytes == 0) {
      return invalid_pool_choice(
          fmt::format("--memory {}: write an amount such as 12G or 800M", settings.memory));
    }
    if (*bytes < kMemoryMin) {
      return invalid_pool_choice(fmt::format(
          "--memory {} is {}, in which no model has room; write an amount such as 12G or 800M",
          settings.memory, human_bytes(*bytes)));
    }
    choice.memory_bytes = *bytes;
  }
  Result<std::vector<bool>> kept = marked("keep-loaded", settings.keep_loaded, names);
  if (!kept) return kept.error();
  choice.kept = *std::move(kept);
  if (settings.load.empty()) return choice;
  Result<std::vector<bool>> first = marked("load", settings.load, names);
  if (!first) return first.error();
  choice.first = *std::move(first);
  return choice;
}

Result<std::vector<engine::PooledModelId>> models_to_load_first(
    const PoolChoice& choice, std::span<const engine::PooledModelFacts> models,
    std::span<const std::string> names, uint64_t memory_bytes) {
  std::vector<engine::PooledModelId> first;
  std::vector<std::string> named;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < models.size(); ++i) {
    if (!choice.kept[i] && (choice.first.empty() || !choice.first[i])) continue;
    first.emplace_back(i);
    named.push_back(names[i]);
    bytes += models[i].bytes;
  }
  if (memory_bytes > 0 && first.size() > 1 && bytes > memory_bytes) {
    return invalid_pool_choice(fmt::format(
        "{} do not fit together: they need about {}, and there are {}; keep or load fewer at the "
        "start, or give them a smaller --ctx or more --memory",
        fmt::join(named, ", "), human_bytes(bytes), human_bytes(memory_bytes)));
  }
  if (!choice.first.empty()) return first;
  return engine::models_of_the_start(models, memory_bytes);
}

uint64_t context_memory(std::span<const uint64_t> least_bytes, size_t index,
                        uint64_t memory_bytes) {
  // What a context takes of it at most, and something for what is only estimated.
  constexpr double kTaken = 0.5;
  if (memory_bytes == 0) return 0;
  const uint64_t least = std::accumulate(least_bytes.begin(), least_bytes.end(), uint64_t{0});
  const auto models = static_cast<double>(least_bytes.size());
  if (least <= memory_bytes - memory_bytes / 4) {
    const auto left = static_cast<double>(memory_bytes - least);
    return static_cast<uint64_t>(left / std::max(1.0, models * kTaken));
  }
  const uint64_t own = least_bytes[index];
  return own < memory_bytes ? std::max<uint64_t>((memory_bytes - own) / 2, 1) : 1;
}

}  // namespace windrow::app
