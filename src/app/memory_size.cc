#include "app/memory_size.h"

#include <charconv>
#include <cmath>
#include <string>

namespace windrow::app {

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

}  // namespace windrow::app
