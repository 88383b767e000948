#include "jinja/civil_time.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace windrow::jinja {
namespace {

TEST(Strftime, GivesWhatPythonGives) {
  // Days at which weeks and years do not begin together; from Python's datetime.
  const std::vector<std::pair<CivilTime, std::string>> kExamples = {
      {{.year = 1970, .month = 1, .day = 1, .hour = 0, .minute = 7, .second = 9},
       "1970-W01-4 70 00 00 4 001 Thu Jan  1 12 AM 429"},
      {{.year = 1999, .month = 12, .day = 31, .hour = 23, .minute = 7, .second = 9},
       "1999-W52-5 99 52 52 5 365 Fri Dec 31 11 PM 946681629"},
      {{.year = 2000, .month = 2, .day = 29, .hour = 12, .minute = 7, .second = 9},
       "2000-W09-2 00 09 09 2 060 Tue Feb 29 12 PM 951826029"},
      {{.year = 2004, .month = 12, .day = 31, .hour = 1, .minute = 7, .second = 9},
       "2004-W53-5 04 52 52 5 366 Fri Dec 31 01 AM 1104455229"},
      {{.year = 2008, .month = 12, .day = 29, .hour = 0, .minute = 7, .second = 9},
       "2009-W01-1 09 52 52 1 364 Mon Dec 29 12 AM 1230509229"},
      {{.year = 2010, .month = 1, .day = 3, .hour = 13, .minute = 7, .second = 9},
       "2009-W53-7 09 01 00 0 003 Sun Jan  3 01 PM 1262524029"},
      {{.year = 2012, .month = 1, .day = 1, .hour = 5, .minute = 7, .second = 9},
       "2011-W52-7 11 01 00 0 001 Sun Jan  1 05 AM 1325394429"},
      {{.year = 2016, .month = 1, .day = 1, .hour = 11, .minute = 7, .second = 9},
       "2015-W53-5 15 00 00 5 001 Fri Jan  1 11 AM 1451646429"},
      {{.year = 2020, .month = 12, .day = 31, .hour = 12, .minute = 7, .second = 9},
       "2020-W53-4 20 52 52 4 366 Thu Dec 31 12 PM 1609416429"},
      {{.year = 2021, .month = 1, .day = 1, .hour = 0, .minute = 7, .second = 9},
       "2020-W53-5 20 00 00 5 001 Fri Jan  1 12 AM 1609459629"},
      {{.year = 2024, .month = 12, .day = 30, .hour = 22, .minute = 7, .second = 9},
       "2025-W01-1 25 52 53 1 365 Mon Dec 30 10 PM 1735596429"},
      {{.year = 2026, .month = 7, .day = 5, .hour = 14, .minute = 7, .second = 9},
       "2026-W27-7 26 27 26 0 186 Sun Jul  5 02 PM 1783260429"},
      {{.year = 2032, .month = 12, .day = 31, .hour = 3, .minute = 7, .second = 9},
       "2032-W53-5 32 52 52 5 366 Fri Dec 31 03 AM 1988075229"},
      {{.year = 2100, .month = 3, .day = 1, .hour = 9, .minute = 7, .second = 9},
       "2100-W09-1 00 09 09 1 060 Mon Mar  1 09 AM 4107575229"},
  };
  for (const auto& [time, expected] : kExamples) {
    EXPECT_EQ(strftime("%G-W%V-%u %g %U %W %w %j %a %b %e %I %p %s", time), expected);
  }
}

TEST(Strftime, LeavesWhatIsNoDirective) {
  const CivilTime time = {.year = 2026, .month = 7, .day = 5};
  EXPECT_EQ(strftime("100%% %Q %", time), "100% %Q %");
  EXPECT_EQ(strftime("%-d.%-m. %H:%M:%S.%f|%Z|%D|%F|%T", time),
            "5.7. 00:00:00.000000||07/05/26|2026-07-05|00:00:00");
}

}  // namespace
}  // namespace windrow::jinja
