// CivilTime: a moment as a calendar and a clock on the wall show it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace windrow::jinja {

struct CivilTime {
  int year = 1970;
  int month = 1;  // 1..12
  int day = 1;    // 1..31
  int hour = 0;
  int minute = 0;
  int second = 0;
  int microsecond = 0;
};

// Of seconds since 1970. Thread-safe; local time is that of the process (TZ).
CivilTime utc_time(int64_t unix_seconds);
CivilTime local_time(int64_t unix_seconds);

// Times as text: strftime of the C locale, whatever the locale of the process is.

// As Python's datetime without a time zone: what is no directive stays as it is.
std::string strftime(std::string_view format, const CivilTime& time);

}  // namespace windrow::jinja
