#include "jinja/civil_time.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace windrow::jinja {
namespace {

CivilTime from_tm(const std::tm& tm) {
  return {.year = tm.tm_year + 1900,
          .month = tm.tm_mon + 1,
          .day = tm.tm_mday,
          .hour = tm.tm_hour,
          .minute = tm.tm_min,
          .second = tm.tm_sec};
}

}  // namespace

CivilTime utc_time(int64_t unix_seconds) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm tm{};
  gmtime_r(&seconds, &tm);
  return from_tm(tm);
}

CivilTime local_time(int64_t unix_seconds) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm tm{};
  localtime_r(&seconds, &tm);
  return from_tm(tm);
}

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

bool is_leap(int year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int day_of_year(const CivilTime& time) {  // from 0
  static constexpr std::array<int, 12> kBefore = {0,   31,  59,  90,  120, 151,
                                                  181, 212, 243, 273, 304, 334};
  return kBefore[static_cast<size_t>(time.month - 1)] + time.day - 1 +
         (time.month > 2 && is_leap(time.year) ? 1 : 0);
}

int weekday(const CivilTime& time) {  // Sunday is 0
  const int before = time.year - 1;
  const int days = before * 365 + before / 4 - before / 100 + before / 400 + day_of_year(time);
  return (days + 1) % 7;
}

struct IsoWeek {
  int year;
  int week;
};

IsoWeek iso_week(const CivilTime& time) {
  const int from_monday = (weekday(time) + 6) % 7;
  const int week = (day_of_year(time) - from_monday + 10) / 7;
  const auto weeks_of = [](int year) {
    const int first = weekday({.year = year});
    return first == 4 || (first == 3 && is_leap(year)) ? 53 : 52;
  };
  if (week < 1) return {time.year - 1, weeks_of(time.year - 1)};
  if (week > weeks_of(time.year)) return {time.year + 1, 1};
  return {time.year, week};
}

// Days since 1970, by the civil calendar.
int64_t days_since_epoch(const CivilTime& time) {
  const int64_t before = time.year - 1;
  return before * 365 + before / 4 - before / 100 + before / 400 + day_of_year(time) - 719162;
}

// The text of one directive, or nothing when there is no such directive.
std::string directive(char letter, const CivilTime& t) {
  const int hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  const std::string_view day = kDays[static_cast<size_t>(weekday(t))];
  const std::string_view month = kMonths[static_cast<size_t>(t.month - 1)];
  switch (letter) {
    case 'a':
      return std::string(day.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'B':
      return std::string(month);
    case 'c':
      return strftime("%a %b %e %H:%M:%S %Y", t);
    case 'C':
      return fmt::format("{:02}", t.year / 100);
    case 'd':
      return fmt::format("{:02}", t.day);
    case 'D':
    case 'x':
      return strftime("%m/%d/%y", t);
    case 'e':
      return fmt::format("{:2}", t.day);
    case 'f':
      return fmt::format("{:06}", t.microsecond);
    case 'F':
      return strftime("%Y-%m-%d", t);
    case 'g':
      return fmt::format("{:02}", iso_week(t).year % 100);
    case 'G':
      return fmt::format("{}", iso_week(t).year);
    case 'H':
      return fmt::format("{:02}", t.hour);
    case 'I':
      return fmt::format("{:02}", hour12);
    case 'j':
      return fmt::format("{:03}", day_of_year(t) + 1);
    case 'k':
      return fmt::format("{:2}", t.hour);
    case 'l':
      return fmt::format("{:2}", hour12);
    case 'm':
      return fmt::format("{:02}", t.month);
    case 'M':
      return fmt::format("{:02}", t.minute);
    case 'n':
      return "\n";
    case 'p':
      return t.hour < 12 ? "AM" : "PM";
    case 'P':
      return t.hour < 12 ? "am" : "pm";
    case 'r':
      return strftime("%I:%M:%S %p", t);
    case 'R':
      return strftime("%H:%M", t);
    case 's':
      return fmt::format("{}",
                         ((days_since_epoch(t) * 24 + t.hour) * 60 + t.minute) * 60 + t.second);
    case 'S':
      return fmt::format("{:02}", t.second);
    case 't':
      return "\t";
    case 'T':
    case 'X':
      return strftime("%H:%M:%S", t);
    case 'u':
      return fmt::format("{}", weekday(t) == 0 ? 7 : weekday(t));
    case 'U':
      return fmt::format("{:02}", (day_of_year(t) + 7 - weekday(t)) / 7);
    case 'V':
      return fmt::format("{:02}", iso_week(t).week);
    case 'w':
      return fmt::format("{}", weekday(t));
    case 'W':
      return fmt::format("{:02}", (day_of_year(t) + 7 - (weekday(t) + 6) % 7) / 7);
    case 'y':
      return fmt::format("{:02}", t.year % 100);
    case 'Y':
      return fmt::format("{}", t.year);
    case 'z':
    case 'Z':
      return "";  // a time without a zone
    case '%':
      return "%";
    default:
      return fmt::format("%{}", letter);
  }
}

// "%-d": the number without what fills it up.
std::string unpadded(std::string text) {
  size_t begin = 0;
  while (begin + 1 < text.size() && (text[begin] == '0' || text[begin] == ' '))
    ++begin;
  return text.substr(begin);
}

}  // namespace

std::string strftime(std::string_view format, const CivilTime& time) {
  std::string text;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%' || at + 1 == format.size()) {
      text += format[at];
      continue;
    }
    const char letter = format[++at];
    if (letter == '-' && at + 1 < format.size()) {
      text += unpadded(directive(format[++at], time));
    } else {
      text += directive(letter, time);
    }
  }
  return text;
}

}  // namespace windrow::jinja
