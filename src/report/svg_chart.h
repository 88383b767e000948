// A line chart as inline SVG: no script, colours from the page's style sheet. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"

namespace windrow::report {

struct ChartSeries {
  std::string name;
  std::string style;           // class of the line in the page's style sheet
  std::vector<double> values;  // one for each stretch of time; none below 0
};

struct Chart {
  std::string title;
  std::string unit;  // of the values: "rows/s"
  std::vector<ChartSeries> series;
  Duration length{};  // from the left end to the right
};

// Every series has the same number of values, evenly spread over the length. Each stretch says its
// values and time when pointed at.
std::string svg_chart(const Chart& chart);

// Texts for HTML: & < > " and ' escaped.
std::string html_escaped(std::string_view text);

}  // namespace windrow::report
