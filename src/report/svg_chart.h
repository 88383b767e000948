// A line chart as inline SVG: no script, colours from the page's style sheet. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// Bars of equal width, whatever each stands for.
struct BarChart {
  struct Bar {
    std::string name;  // of its least value: "85 ms"
    int64_t count = 0;
  };
  std::string title;
  std::vector<Bar> bars;  // at least one
};

// Every bar says its name and count when pointed at; some have their name below. svg_bars.cc.
std::string svg_bars(const BarChart& chart);

// Texts for HTML: & < > " and ' escaped.
std::string html_escaped(std::string_view text);

}  // namespace windrow::report
