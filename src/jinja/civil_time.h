// CivilTime: date and time of day, and their text by strftime. Any thread.
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

// `unix_seconds`: since 1970. Local time is that of the process (TZ).
CivilTime utc_time(int64_t unix_seconds);
CivilTime local_time(int64_t unix_seconds);

// As Python's datetime.strftime without a time zone, in the C locale whatever the locale of the
// process. Unknown directives stay as they are.
std::string strftime(std::string_view format, const CivilTime& time);

}  // namespace windrow::jinja
