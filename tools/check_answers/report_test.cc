#include "check_answers/report.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::check_answers {
namespace {

Score some_score() {
  return {.tasks = {{.task = "screening",
                     .rows = 2000,
                     .right = 1934,
                     .missing = 3,
                     .parts = {{.name = "fit", .rows = 2000, .right = 1990},
                               {.name = "years", .rows = 2000, .right = 2000}}},
                    {.task = "sort", .rows = 8, .right = 1, .missing = 0, .parts = {}}},
          .unknown = 2};
}

TEST(Report, TheTableHasALineForEachTask) {
  EXPECT_EQ(report_text(some_score()),
            "task          rows    exact       %\n"
            "screening    2,000    1,934    96.7   fit 99.5, years 100.0\n"
            "sort             8        1    12.5\n"
            "screening: 3 rows have no answer; they count as wrong\n"
            "2 results are of rows that the key does not have; they do not count\n");
}

TEST(Report, JsonHasTheSame) {
  EXPECT_EQ(report_json(some_score()), boost::json::parse(R"({"tasks": {
                "screening": {"rows": 2000, "right": 1934, "percent": 96.7, "missing": 3,
                              "parts": {"fit": 99.5, "years": 100.0}},
                "sort": {"rows": 8, "right": 1, "percent": 12.5, "missing": 0, "parts": {}}},
              "unknown": 2})"));
}

}  // namespace
}  // namespace windrow::check_answers
