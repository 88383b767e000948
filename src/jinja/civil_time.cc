#include "jinja/civil_time.h"

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

}  // namespace windrow::jinja
