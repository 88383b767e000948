#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "json/writer.h"
#include "report/report_job.h"
#include "report/summary.h"
#include "report/svg_chart.h"
#include "report/throughput_history.h"

namespace windrow::report {
namespace {

// More would be finer than a screen.
constexpr size_t kBinsMax = 240;

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Windrow job</title>
<style>
:root {
  color-scheme: light dark;
  --page: #fafaf8; --card: #ffffff; --ink: #1d1d1b; --soft: #63635e; --line: #e3e3de;
  --first: #1f6fc4; --second: #c2571a; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #161615; --card: #1f1f1d; --ink: #ecece8; --soft: #a3a39c; --line: #383834;
    --first: #5ea3ec; --second: #ee8a4d; --bad: #f2857d;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 24px 16px 48px; max-width: 860px; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
}
h1 { font-size: 22px; margin: 0; }
h2 { font-size: 16px; margin: 0 0 8px; }
p { margin: 4px 0 16px; color: var(--soft); overflow-wrap: anywhere; }
p.bad { color: var(--bad); white-space: pre-wrap; }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 14px 16px; margin-top: 16px;
}
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px; }
.tiles b { display: block; font-size: 20px; font-variant-numeric: tabular-nums; }
.tiles span, .key, .unit { color: var(--soft); font-size: 13px; }
.unit { font-weight: normal; }
.key i {
  display: inline-block; width: 14px; height: 3px; margin: 0 6px 3px 12px; border-radius: 2px;
}
i:first-child { margin-left: 0; }
.bar { fill: var(--first); }
i.first { background: var(--first); } i.second { background: var(--second); }
svg { display: block; width: 100%; height: auto; }
.grid { stroke: var(--line); } .axis { stroke: var(--soft); }
.tick { fill: var(--soft); font-size: 11px; }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.line.first { stroke: var(--first); } .line.second { stroke: var(--second); }
.hint { fill: var(--ink); opacity: 0; } .hint:hover { opacity: 0.07; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; padding: 5px 16px 5px 0; border-top: 1px solid var(--line); }
thead th { border-top: none; color: var(--soft); font-weight: normal; }
td:first-child, .tight td { width: 1%; white-space: nowrap; }
.tight td:last-child { width: auto; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
</style>
</head>
<body>
)";

double report_rate(int64_t count, Duration time) {
  return time > Duration::zero() ? static_cast<double>(count) / seconds(time) : 0;
}

std::string header(const Summary& summary, const LogTally* logs) {
  std::string html =
      fmt::format("<h1>{}: {}</h1>\n", page_text(summary.input), to_string(summary.end));
  html += fmt::format("<p>Windrow {}, {}</p>\n", page_text(summary.version),
                      page_text(summary.runtime));
  if (!summary.error.empty())
    html += fmt::format("<p class=\"bad\">{}</p>\n", page_text(summary.error));
  html += "<section class=\"tiles\">\n";
  html += page_tile("rows succeeded", with_thousands(summary.rows_succeeded));
  html += page_tile("rows failed", with_thousands(summary.rows_failed));
  if (summary.rows_left() > 0) html += page_tile("rows left", with_thousands(summary.rows_left()));
  if (logs != nullptr) {
    llm::TokenCount tokens;
    for (const auto& [model, tally] : logs->models())
      tokens += tally.tokens;
    html += page_tile("prompt tokens", with_thousands(tokens.prompt));
    if (tokens.cached > 0) html += page_tile("of them cached", with_thousands(tokens.cached));
    if (tokens.completion > 0)
      html += page_tile("output tokens", with_thousands(tokens.completion));
    if (logs->latency().count() > 0)
      html += page_tile("median latency", latency_text(logs->latency().quantile_ms(0.5)));
  }
  return html + "</section>\n";
}

// Figures of the run that wrote the report.
std::string run_section(const Summary& summary) {
  const bool only = summary.runs.size() < 2 && summary.rows_before == 0;
  std::string html = fmt::format("<section>\n<h2>{}</h2>\n<div class=\"tiles\">\n",
                                 only ? "The run" : "The last run");
  if (!only) html += page_tile("rows in this run", with_thousands(summary.rows_this_run));
  html += page_tile("running", human_duration(summary.running));
  html += page_tile("rows/s", human_rate(report_rate(summary.rows_this_run, summary.running)));
  html += page_tile("prompt tokens/s",
                    human_rate(report_rate(summary.backend.prompt_tokens, summary.running)));
  if (summary.backend.cached_tokens > 0)
    html += page_tile("prompt tokens reused", with_thousands(summary.backend.cached_tokens));
  if (summary.backend.generated_tokens > 0 || summary.backend.prompt_tokens == 0) {
    html += page_tile("output tokens/s",
                      human_rate(report_rate(summary.backend.generated_tokens, summary.running)));
  }
  if (summary.dispatch.retries > 0)
    html += page_tile("retries", with_thousands(summary.dispatch.retries));
  if (summary.backend.preemptions > 0)
    html += page_tile("preemptions", with_thousands(summary.backend.preemptions));
  return html + "</div>\n</section>\n";
}

// The history in at most kBinsMax stretches, as values per second.
class Bins {
 public:
  explicit Bins(const ThroughputHistory& history) : length_(history.length()) {
    const std::vector<ThroughputPoint>& points = history.points();
    const size_t points_a_bin = (points.size() + kBinsMax - 1) / kBinsMax;
    for (size_t first = 0; first < points.size(); first += points_a_bin) {
      const size_t end = std::min(points.size(), first + points_a_bin);
      // The last point, and so the last bin, may be short.
      const Duration from = history.point_length() * static_cast<int64_t>(first);
      const Duration to = std::min(length_, history.point_length() * static_cast<int64_t>(end));
      ThroughputPoint sum;
      for (size_t i = first; i < end; ++i) {
        sum.rows += points[i].rows;
        sum.prompt_tokens += points[i].prompt_tokens;
        sum.generated_tokens += points[i].generated_tokens;
        sum.row_seconds += points[i].row_seconds;
      }
      const double bin_s = seconds(to - from);
      rows_.push_back(sum.rows / bin_s);
      prompt_tokens_.push_back(sum.prompt_tokens / bin_s);
      generated_tokens_.push_back(sum.generated_tokens / bin_s);
      rows_running_.push_back(sum.row_seconds / bin_s);
    }
  }

  bool empty() const { return rows_.empty(); }

  std::vector<Chart> charts() const {
    return {Chart{.title = "Rows finished",
                  .unit = "rows/s",
                  .series = {{.name = "rows", .style = "first", .values = rows_}},
                  .length = length_},
            Chart{.title = "Tokens",
                  .unit = "tokens/s",
                  .series = {{.name = "prompt", .style = "first", .values = prompt_tokens_},
                             {.name = "generated", .style = "second", .values = generated_tokens_}},
                  .length = length_},
            Chart{.title = "Rows in the batch",
                  .unit = "rows",
                  .series = {{.name = "rows", .style = "first", .values = rows_running_}},
                  .length = length_}};
  }

 private:
  Duration length_;
  std::vector<double> rows_;
  std::vector<double> prompt_tokens_;
  std::vector<double> generated_tokens_;
  std::vector<double> rows_running_;
};

std::string chart_section(const Chart& chart) {
  std::string html = fmt::format("<section>\n<h2>{} <span class=\"unit\">{}</span></h2>\n",
                                 chart.title, chart.unit);
  if (chart.series.size() > 1) {
    html += "<div class=\"key\">";
    for (const ChartSeries& series : chart.series) {
      html += fmt::format("<i class=\"{}\"></i>{}", series.style, series.name);
    }
    html += "</div>\n";
  }
  return html + svg_chart(chart) + "</section>\n";
}

std::string files_section(const Summary& summary) {
  std::string html = "<section>\n<h2>Files</h2>\n<table>\n<tbody>\n";
  const auto row = [&](std::string_view name, const std::string& path) {
    html += fmt::format("<tr><td>{}</td><td><code>{}</code></td></tr>\n", name, page_text(path));
  };
  row("requests", summary.input);
  row("results", summary.files.results);
  if (summary.rows_failed > 0) row("failures", summary.files.errors);
  row("summary", summary.files.summary);
  return html + "</tbody>\n</table>\n</section>\n";
}

std::string settings_section(const Summary& summary) {
  std::string rows;
  for (const SummarySetting& setting : summary.settings) {
    if (setting.source == "default") continue;
    rows += fmt::format("<tr><td>{}</td><td><code>{}</code></td><td>{}</td></tr>\n",
                        page_text(setting.name), page_text(plain_json(setting.value)),
                        page_text(setting.source));
  }
  if (rows.empty())
    return "<section>\n<h2>Settings</h2>\n<p>All are the defaults.</p>\n</section>\n";
  return fmt::format(
      "<section>\n<h2>Settings <span class=\"unit\">that are not the defaults</span></h2>\n"
      "<div class=\"scroll\">\n<table>\n<thead><tr><th>Setting</th>"
      "<th>Value</th><th>From</th></tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n</"
      "section>\n",
      rows);
}

}  // namespace

std::string report_html(const Summary& summary, const ThroughputHistory& history,
                        const LogTally* logs) {
  std::string html(kHead);
  html += header(summary, logs);
  html += runs_section(summary);
  html += run_section(summary);
  const Bins bins(history);
  if (bins.empty()) {
    html += "<section><p>No row ran long enough to draw a chart.</p></section>\n";
  } else {
    for (const Chart& chart : bins.charts())
      html += chart_section(chart);
  }
  if (logs != nullptr) {
    html += latency_section(*logs);
    html += lengths_section(*logs);
    html += finish_section(*logs);
    html += retries_section(summary, *logs);
  }
  html += servers_section(summary);
  html += failures_section(summary, logs);
  html += files_section(summary);
  html += settings_section(summary);
  return html + "</body>\n</html>\n";
}

}  // namespace windrow::report
