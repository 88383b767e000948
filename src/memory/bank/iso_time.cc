#include "memory/bank/iso_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

namespace windrow::memory {
namespace {

constexpr int64_t kDayMs = 86'400'000;
constexpr int64_t kMinuteMs = 60'000;
constexpr int64_t kYearMax = 9999;

int64_t first_ms_of(int64_t year) {
  const std::chrono::sys_days day = std::chrono::year(static_cast<int>(year)) / 1 / 1;
  return day.time_since_epoch().count() * kDayMs;
}

// Takes the parts of a text from its front.
class Taker {
 public:
  explicit Taker(std::string_view text) : text_(text) {}

  bool is_empty() const { return text_.empty(); }
  char front() const { return text_.empty() ? '\0' : text_.front(); }

  bool take(char one) {
    if (front() != one) return false;
    text_.remove_prefix(1);
    return true;
  }

  // So many digits.
  std::optional<int64_t> number(size_t digits) {
    if (text_.size() < digits) return std::nullopt;
    int64_t value = 0;
    for (const char digit : text_.substr(0, digits)) {
      if (digit < '0' || digit > '9') return std::nullopt;
      value = value * 10 + (digit - '0');
    }
    text_.remove_prefix(digits);
    return value;
  }

  // ".25" -> 250; nothing: no digit follows the point.
  std::optional<int64_t> milliseconds() {
    if (!take('.') && !take(',')) return 0;
    int64_t value = 0;
    size_t count = 0;
    for (; front() >= '0' && front() <= '9'; text_.remove_prefix(1), ++count) {
      if (count < 3) value = value * 10 + (front() - '0');
    }
    if (count == 0) return std::nullopt;
    for (; count < 3; ++count)
      value *= 10;
    return value;
  }

 private:
  std::string_view text_;
};

std::optional<int64_t> take_day(Taker& taker) {
  const auto year = taker.number(4);
  if (!year || !taker.take('-')) return std::nullopt;
  const auto month = taker.number(2);
  if (!month || !taker.take('-')) return std::nullopt;
  const auto day = taker.number(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * kDayMs;
}

// The time of a day.
std::optional<int64_t> take_time(Taker& taker) {
  const auto hour = taker.number(2);
  if (!hour || *hour > 23 || !taker.take(':')) return std::nullopt;
  const auto minute = taker.number(2);
  if (!minute || *minute > 59) return std::nullopt;
  int64_t ms = (*hour * 60 + *minute) * kMinuteMs;
  if (!taker.take(':')) return ms;
  const auto second = taker.number(2);
  if (!second || *second > 59) return std::nullopt;
  const auto fraction = taker.milliseconds();
  if (!fraction) return std::nullopt;
  return ms + *second * 1000 + *fraction;
}

// What is to be subtracted.
std::optional<int64_t> take_offset(Taker& taker) {
  if (taker.is_empty() || taker.take('Z') || taker.take('z')) return 0;
  const int64_t sign = taker.front() == '-' ? -1 : 1;
  if (!taker.take('+') && !taker.take('-')) return std::nullopt;
  const auto hours = taker.number(2);
  if (!hours || *hours > 23) return std::nullopt;
  if (taker.is_empty()) return sign * *hours * 60 * kMinuteMs;
  taker.take(':');
  const auto minutes = taker.number(2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return sign * (*hours * 60 + *minutes) * kMinuteMs;
}

}  // namespace

std::string to_iso(int64_t unix_ms) {
  const int64_t shown = std::clamp(unix_ms, first_ms_of(0), first_ms_of(kYearMax + 1) - 1);
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(shown)};
  const std::chrono::sys_days day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  const int64_t fraction = clock.subseconds().count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}+00:00", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     fraction == 0 ? "" : fmt::format(".{:03}000", fraction));
}

std::optional<int64_t> unix_ms_from_iso(std::string_view iso) {
  Taker taker(iso);
  const auto day = take_day(taker);
  if (!day || taker.is_empty()) return day;
  if (!taker.take('T') && !taker.take('t') && !taker.take(' ')) return std::nullopt;
  const auto time = take_time(taker);
  if (!time) return std::nullopt;
  const auto offset = take_offset(taker);
  if (!offset || !taker.is_empty()) return std::nullopt;
  return *day + *time - *offset;
}

}  // namespace windrow::memory
