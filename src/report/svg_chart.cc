#include "report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/ensure.h"
#include "base/format.h"

namespace windrow::report {
namespace {

// In units of the view box; the page scales it.
constexpr double kWidth = 760;
constexpr double kHeight = 220;
constexpr double kLeft = 58;
constexpr double kRight = 744;
constexpr double kTop = 14;
constexpr double kBottom = 190;

// 1, 2 or 5 times a power of ten, so that about four of them reach `max`.
double nice_step(double max) {
  const double rough = max / 4;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

Duration time_step(Duration length) {
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  constexpr double kTicksMax = 8;
  const std::array<Duration, 19> steps = {
      seconds(1), seconds(2), seconds(5),  seconds(10), seconds(15), seconds(30), minutes(1),
      minutes(2), minutes(5), minutes(10), minutes(15), minutes(30), hours(1),    hours(2),
      hours(3),   hours(6),   hours(12),   hours(24),   hours(48)};
  for (const Duration step : steps) {
    if (length <= step * static_cast<int64_t>(kTicksMax)) return step;
  }
  const int64_t days = length / (hours(24) * static_cast<int64_t>(kTicksMax)) + 1;
  return hours(24) * days;
}

// "m:ss" in the first hour, then "h:mm", then days.
std::string time_label(Duration at, Duration length) {
  const auto whole = static_cast<int64_t>(std::llround(seconds(at)));
  if (length <= std::chrono::hours(1)) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  if (length <= std::chrono::hours(48)) {
    return fmt::format("{}:{:02}", whole / 3600, whole / 60 % 60);
  }
  return fmt::format("{} d", whole / 86'400);
}

std::string_view time_unit(Duration length) {
  if (length <= std::chrono::hours(1)) return "min:s";
  if (length <= std::chrono::hours(48)) return "h:min";
  return "days";
}

std::string value_label(double value) {
  if (value >= 1000) return with_thousands(std::llround(value));
  return fmt::format("{:.4g}", value);
}

class Plot {
 public:
  explicit Plot(const Chart& chart) : chart_(chart), bins_(chart.series.front().values.size()) {
    for (const ChartSeries& series : chart.series) {
      ENSURE(series.values.size() == bins_, "series {} has another length", series.name);
      for (const double value : series.values)
        max_ = std::max(max_, value);
    }
    step_ = nice_step(max_ > 0 ? max_ : 1);
    top_value_ = step_ * std::max(1.0, std::ceil(max_ / step_ - 1e-9));
  }

  std::string draw() const {
    std::string svg =
        fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth, kHeight,
                    html_escaped(fmt::format("{} in {} over time", chart_.title, chart_.unit)));
    svg += grid();
    for (const ChartSeries& series : chart_.series)
      svg += line(series);
    svg += hints();
    return svg + "</svg>\n";
  }

 private:
  double x(double share) const { return kLeft + share * (kRight - kLeft); }
  double y(double value) const { return kBottom - value / top_value_ * (kBottom - kTop); }

  double left_of(size_t bin) const {
    return x(static_cast<double>(bin) / static_cast<double>(bins_));
  }

  std::string grid() const {
    std::string svg;
    for (int64_t i = 0; step_ * static_cast<double>(i) <= top_value_ * 1.0001; ++i) {
      const double value = step_ * static_cast<double>(i);
      svg += fmt::format("<line class=\"{}\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                         i == 0 ? "axis" : "grid", kLeft, kRight, y(value), y(value));
      svg +=
          fmt::format("<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                      kLeft - 6, y(value) + 3.5, value_label(value));
    }
    const Duration step = time_step(chart_.length);
    for (Duration at{}; at <= chart_.length; at += step) {
      const double share =
          chart_.length > Duration::zero() ? seconds(at) / seconds(chart_.length) : 0;
      svg += fmt::format(
          "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(share),
          kBottom + 16, time_label(at, chart_.length));
    }
    svg += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                       kRight, kHeight - 1, time_unit(chart_.length));
    return svg;
  }

  // A stretch has one value: steps say that, slopes would not.
  std::string line(const ChartSeries& series) const {
    std::string path;
    for (size_t bin = 0; bin < bins_; ++bin) {
      path += fmt::format("{}{:.1f} {:.1f}H{:.1f}", bin == 0 ? "M" : "L", left_of(bin),
                          y(series.values[bin]), left_of(bin + 1));
    }
    return fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", series.style, path);
  }

  std::string hints() const {
    std::string svg;
    const Duration bin_length = chart_.length / static_cast<int64_t>(bins_);
    for (size_t bin = 0; bin < bins_; ++bin) {
      std::string text = human_duration(bin_length * static_cast<int64_t>(bin)) + ":";
      for (const ChartSeries& series : chart_.series) {
        text += fmt::format(" {}{}{}", chart_.series.size() > 1 ? series.name + " " : "",
                            human_rate(series.values[bin]),
                            &series == &chart_.series.back() ? "" : ",");
      }
      svg += fmt::format(
          "<rect class=\"hint\" x=\"{:.1f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\">"
          "<title>{} {}</title></rect>\n",
          left_of(bin), kTop, left_of(bin + 1) - left_of(bin), kBottom - kTop, html_escaped(text),
          html_escaped(chart_.unit));
    }
    return svg;
  }

  const Chart& chart_;
  const size_t bins_;
  double max_ = 0;
  double step_ = 1;
  double top_value_ = 1;
};

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char letter : text) {
    switch (letter) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

std::string svg_chart(const Chart& chart) {
  ENSURE(!chart.series.empty() && !chart.series.front().values.empty(), "nothing to draw in {}",
         chart.title);
  return Plot(chart).draw();
}

}  // namespace windrow::report
