#include "http/date.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace windrow::http {
namespace {

namespace chrono = std::chrono;

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// The number that `text` is, when it is nothing else.
std::optional<unsigned> date_number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string http_date(int64_t unix_seconds) {
  const chrono::sys_seconds time{chrono::seconds(unix_seconds)};
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(time - day);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays.at(chrono::weekday(day).c_encoding()), unsigned{date.day()},
                     kMonths.at(unsigned{date.month()} - 1), int{date.year()},
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::optional<int64_t> parse_http_date(std::string_view text) {
  // "Sun, 06 Nov 1994 08:49:37 GMT": every part has its place.
  if (text.size() != 29 || !text.ends_with(" GMT")) return std::nullopt;
  const std::optional<unsigned> day = date_number(text.substr(5, 2));
  const auto* const month = std::ranges::find(kMonths, text.substr(8, 3));
  const std::optional<unsigned> year = date_number(text.substr(12, 4));
  const std::optional<unsigned> hour = date_number(text.substr(17, 2));
  const std::optional<unsigned> minute = date_number(text.substr(20, 2));
  const std::optional<unsigned> second = date_number(text.substr(23, 2));
  if (!day || month == kMonths.end() || !year || !hour || !minute || !second) return std::nullopt;
  const chrono::year_month_day date(
      chrono::year(static_cast<int>(*year)),
      chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1), chrono::day(*day));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const chrono::sys_seconds time = chrono::sys_days(date) + chrono::hours(*hour) +
                                   chrono::minutes(*minute) + chrono::seconds(*second);
  // Who wrote the numbers at their places wrote the rest too.
  if (*second < 60 && http_date(time.time_since_epoch().count()) != text) return std::nullopt;
  return time.time_since_epoch().count();
}

}  // namespace windrow::http
