#include "base/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace windrow {

std::string with_thousands(int64_t value) {
  std::string digits = fmt::format("{}", value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string human_bytes(uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string human_duration(Duration duration) {
  const double total = std::max(0.0, seconds(duration));
  if (total < 9.95) return fmt::format("{:.1f} s", total);
  const auto whole = static_cast<int64_t>(std::llround(total));
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (whole < kMinute) return fmt::format("{} s", whole);
  if (whole < kHour) return fmt::format("{} min {} s", whole / kMinute, whole % kMinute);
  if (whole < kDay) return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
  return fmt::format("{} d {} h", whole / kDay, whole % kDay / kHour);
}

std::string human_rate(double per_second) {
  if (!std::isfinite(per_second) || per_second <= 0) return "0";
  if (per_second < 0.0995) return fmt::format("{:.3f}", per_second);
  if (per_second < 9.995) return fmt::format("{:.2f}", per_second);
  if (per_second < 99.95) return fmt::format("{:.1f}", per_second);
  return with_thousands(std::llround(per_second));
}

std::string percent_of(double part) {
  return fmt::format("{:.0f} %", 100 * part);
}

}  // namespace windrow
