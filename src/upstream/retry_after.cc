#include "upstream/retry_after.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

namespace windrow::upstream {
namespace {

constexpr int64_t kWaitMaxMs = 3'600'000;

// Later than any duration, earlier than any moment of this century.
constexpr double kUnixTimeMin = 1e9;

std::optional<double> number_at(std::string_view& text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::optional<int64_t> bounded_ms(double ms) {
  return static_cast<int64_t>(std::ceil(std::min(ms, static_cast<double>(kWaitMaxMs))));
}

// "6m0s", "250ms", "1h2m3.5s".
std::optional<double> duration_ms(std::string_view text) {
  struct Unit {
    std::string_view name;
    double ms;
  };
  // "ms" before "m".
  constexpr std::array<Unit, 4> kUnits = {
      {{"ms", 1}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}}};
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    const std::optional<double> number = number_at(text);
    if (!number) return std::nullopt;
    const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                   [&](const Unit& one) { return text.starts_with(one.name); });
    if (unit == kUnits.end()) return std::nullopt;
    total += *number * unit->ms;
    text.remove_prefix(unit->name.size());
  }
  return total;
}

// "Sat, 21 Nov 2026 21:40:54 GMT" (RFC 9110, 5.6.7); the two obsolete forms are not read.
std::optional<int64_t> unix_time_of(std::string_view text) {
  const std::string date(text);
  std::tm time{};
  const char* end = ::strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&time);
}

// Seconds from now, a moment, or a duration with units.
std::optional<int64_t> read_ms(std::string_view text, int64_t now_unix_s) {
  std::string_view rest = text;
  if (const std::optional<double> number = number_at(rest); number && rest.empty()) {
    const double seconds =
        *number >= kUnixTimeMin ? *number - static_cast<double>(now_unix_s) : *number;
    return bounded_ms(std::max(seconds, 0.0) * 1000);
  }
  if (const std::optional<double> ms = duration_ms(text)) return bounded_ms(*ms);
  if (const std::optional<int64_t> moment = unix_time_of(text)) {
    return bounded_ms(std::max(static_cast<double>(*moment - now_unix_s), 0.0) * 1000);
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> retry_after_ms(const http::Headers& headers, int64_t now_unix_s) {
  if (const auto text = headers.get("retry-after-ms")) {
    std::string_view rest = *text;
    if (const std::optional<double> ms = number_at(rest); ms && rest.empty()) {
      return bounded_ms(*ms);
    }
  }
  if (const auto text = headers.get("retry-after")) {
    if (const auto ms = read_ms(*text, now_unix_s)) return ms;
  }
  std::optional<int64_t> latest;
  for (const std::string_view what : {"requests", "tokens"}) {
    const auto remaining = headers.get("x-ratelimit-remaining-" + std::string(what));
    const auto reset = headers.get("x-ratelimit-reset-" + std::string(what));
    if (!remaining || *remaining != "0" || !reset) continue;
    if (const auto ms = read_ms(*reset, now_unix_s)) latest = std::max(latest.value_or(0), *ms);
  }
  return latest;
}

}  // namespace windrow::upstream
