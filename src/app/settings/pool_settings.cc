#include "app/settings/pool_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/format.h"

namespace windrow::app {
namespace {

// Less memory than this (in bytes) is taken for a number whose unit was forgotten.
constexpr uint64_t kMemoryMin = 1'000'000;

Error invalid_pool(std::string message) {
  return Error{ErrorKind::kInvalid, std::move(message)};
}

Result<std::vector<bool>> marked(std::string_view flag, const std::vector<std::string>& wanted,
                                 std::span<const std::string> names) {
  std::vector<bool> marks(names.size());
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      return invalid_pool(fmt::format("--{} {}: no model is called that; there is {}", flag, name,
                                      fmt::join(names, ", ")));
    }
    marks[static_cast<size_t>(found - names.begin())] = true;
  }
  return marks;
}

}  // namespace

std::optional<uint64_t> parse_memory_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr double kMost = 1e18;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const size_t power = kUnits.find(unit.front());
    if (power == std::string_view::npos) return std::nullopt;
    unit.remove_prefix(1);
    if (!unit.empty() && unit != "iB" && unit != "B") return std::nullopt;
    factor = std::pow(unit == "B" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  const double bytes = std::round(number * factor);
  if (bytes > kMost) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

Result<fleet::PoolOptions> pool_options(const Settings& settings,
                                        std::span<const std::string> names) {
  fleet::PoolOptions pool;
  if (!settings.memory.empty()) {
    const std::optional<uint64_t> bytes = parse_memory_size(settings.memory);
    if (!bytes || *bytes == 0) {
      return invalid_pool(
          fmt::format("--memory {}: write an amount such as 12G or 800M", settings.memory));
    }
    if (*bytes < kMemoryMin) {
      return invalid_pool(fmt::format(
          "--memory {} is {}, in which no model has room; write an amount such as 12G or 800M",
          settings.memory, human_bytes(*bytes)));
    }
    pool.memory_bytes = *bytes;
  }
  Result<std::vector<bool>> kept = marked("keep-loaded", settings.keep_loaded, names);
  if (!kept) return kept.error();
  pool.pinned = *std::move(kept);
  if (settings.load.empty()) return pool;
  Result<std::vector<bool>> first = marked("load", settings.load, names);
  if (!first) return first.error();
  pool.loads_first = *std::move(first);
  return pool;
}

}  // namespace windrow::app
