#include <fmt/format.h>

#include <algorithm>

#include "base/ensure.h"
#include "base/format.h"
#include "report/svg_chart.h"

namespace windrow::report {
namespace {

// In units of the view box; the page scales it.
constexpr double kBarsWidth = 760;
constexpr double kBarsHeight = 170;
constexpr double kBarsLeft = 58;
constexpr double kBarsRight = 744;
constexpr double kBarsTop = 14;
constexpr double kBarsBottom = 142;

// About so many bars have their name below.
constexpr size_t kNamesBelow = 8;

}  // namespace

std::string svg_bars(const BarChart& chart) {
  ENSURE(!chart.bars.empty(), "nothing to draw in {}", chart.title);
  int64_t most = 1;
  for (const BarChart::Bar& bar : chart.bars)
    most = std::max(most, bar.count);
  const double width = (kBarsRight - kBarsLeft) / static_cast<double>(chart.bars.size());
  const size_t each = (chart.bars.size() + kNamesBelow - 1) / kNamesBelow;
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                                kBarsWidth, kBarsHeight, html_escaped(chart.title));
  svg += fmt::format("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", kBarsLeft,
                     kBarsRight, kBarsBottom, kBarsBottom);
  svg += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                     kBarsLeft - 6, kBarsTop + 8, with_thousands(most));
  for (size_t i = 0; i < chart.bars.size(); ++i) {
    const BarChart::Bar& bar = chart.bars[i];
    const double left = kBarsLeft + width * static_cast<double>(i);
    const double share = static_cast<double>(bar.count) / static_cast<double>(most);
    // A bar with a count can be seen.
    const double height = bar.count == 0 ? 0 : std::max(1.0, share * (kBarsBottom - kBarsTop));
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\">"
        "<title>{}: {}</title></rect>\n",
        left, kBarsBottom - height, std::max(width - 1, 0.5), height, html_escaped(bar.name),
        with_thousands(bar.count));
    if (i % each == 0) {
      svg += fmt::format(
          "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
          left + width / 2, kBarsBottom + 16, html_escaped(bar.name));
    }
  }
  return svg + "</svg>\n";
}

}  // namespace windrow::report
