#include "report/report_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/clock.h"
#include "base/format.h"
#include "base/utf8.h"
#include "report/job_runs.h"
#include "report/svg_chart.h"

namespace windrow::report {
namespace {

constexpr size_t kReportBars = 48;

// "2026-11-28 09:40" in UTC: a page has no time zone of its own.
std::string utc_time(int64_t unix_s) {
  using std::chrono::floor;
  const std::chrono::sys_seconds at{std::chrono::seconds(unix_s)};
  const auto day = floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count());
}

Duration duration_of_s(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// A table whose first column is text and whose others are numbers.
class NumberTable {
 public:
  explicit NumberTable(const std::vector<std::string_view>& names) {
    html_ = "<div class=\"scroll\">\n<table>\n<thead><tr>";
    for (size_t i = 0; i < names.size(); ++i)
      html_ += fmt::format("<th{}>{}</th>", i == 0 ? "" : " class=\"number\"", names[i]);
    html_ += "</tr></thead>\n<tbody>\n";
  }

  void row(const std::vector<std::string>& cells) {
    html_ += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i)
      html_ += fmt::format("<td{}>{}</td>", i == 0 ? "" : " class=\"number\"", page_text(cells[i]));
    html_ += "</tr>\n";
  }

  std::string take() { return std::move(html_) + "</tbody>\n</table>\n</div>\n"; }

 private:
  std::string html_;
};

std::string section(std::string_view title, std::string_view unit, const std::string& content) {
  return fmt::format("<section>\n<h2>{} <span class=\"unit\">{}</span></h2>\n{}</section>\n", title,
                     unit, content);
}

template <class Label>
std::string bars_of(std::string title, const LatencyHistogram& values, Label label) {
  BarChart chart{.title = std::move(title), .bars = {}};
  for (const LatencyHistogram::Bar& bar : values.bars(kReportBars))
    chart.bars.push_back({.name = label(bar.from_ms), .count = bar.count});
  return svg_bars(chart);
}

template <class Label>
void add_quantiles(std::string name, const LatencyHistogram& values, Label label,
                   NumberTable& table) {
  if (values.count() == 0) return;
  table.row({std::move(name), with_thousands(values.count()), label(values.min_ms()),
             label(values.quantile_ms(0.5)), label(values.quantile_ms(0.9)),
             label(values.quantile_ms(0.99)), label(values.max_ms())});
}

const std::vector<std::string_view>& quantile_names() {
  static const std::vector<std::string_view> names = {"",     "Rows", "Least", "Median",
                                                      "90 %", "99 %", "Most"};
  return names;
}

}  // namespace

std::string page_text(std::string_view text) {
  return html_escaped(utf8_repair(text));
}

std::string page_tile(std::string_view name, std::string_view value) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", page_text(value), page_text(name));
}

std::string runs_section(const Summary& summary) {
  if (summary.runs.size() < 2) return "";
  NumberTable table({"Began (UTC)", "Ended", "Rows", "Running", "Rows/s", "Retries"});
  double running_s = 0;
  int64_t rows = 0;
  for (const RunFigures& run : summary.runs) {
    running_s += run.running_s;
    rows += run.rows;
    table.row({utc_time(run.started_unix_s), run.end, with_thousands(run.rows),
               human_duration(duration_of_s(run.running_s)),
               run.running_s > 0 ? human_rate(static_cast<double>(run.rows) / run.running_s) : "",
               with_thousands(run.retries)});
  }
  std::string note = fmt::format("{} rows in {} of running", with_thousands(rows),
                                 human_duration(duration_of_s(running_s)));
  const int64_t killed = summary.rows_succeeded + summary.rows_failed - rows;
  // Rows that ran more than once count in each run.
  if (killed > 0) note += fmt::format("; {} more in runs that were killed", with_thousands(killed));
  return section("Runs", note, table.take());
}

std::string latency_section(const LogTally& logs) {
  if (logs.latency().count() == 0) return "";
  NumberTable table(quantile_names());
  add_quantiles("Whole row", logs.latency(), latency_text, table);
  add_quantiles("In the queue", logs.queue(), latency_text, table);
  add_quantiles("To the first token", logs.prefill(), latency_text, table);
  add_quantiles("From there to the last", logs.decode(), latency_text, table);
  return section("Latency", "rows that were answered",
                 bars_of("Rows by latency", logs.latency(), latency_text) + table.take());
}

std::string lengths_section(const LogTally& logs) {
  const auto label = [](int64_t tokens) { return with_thousands(tokens); };
  std::string content;
  if (logs.prompt_lengths().count() > 0) {
    content += "<p>Prompts</p>\n" +
               bars_of("Rows by tokens of their prompt", logs.prompt_lengths(), label);
  }
  if (logs.output_lengths().count() > 0) {
    content += "<p>Answers</p>\n" +
               bars_of("Rows by tokens of their answer", logs.output_lengths(), label);
  }
  if (content.empty()) return "";
  NumberTable table(quantile_names());
  add_quantiles("Prompt", logs.prompt_lengths(), label, table);
  add_quantiles("Answer", logs.output_lengths(), label, table);
  return section("Lengths", "tokens", content + table.take());
}

std::string finish_section(const LogTally& logs) {
  if (logs.finish_reasons().empty()) return "";
  int64_t all = 0;
  for (const auto& [reason, count] : logs.finish_reasons())
    all += count;
  NumberTable table({"Reason", "Answers", "Share"});
  for (const auto& [reason, count] : logs.finish_reasons()) {
    table.row(
        {reason, with_thousands(count),
         fmt::format("{:.1f} %", 100 * static_cast<double>(count) / static_cast<double>(all))});
  }
  return section("Finish reasons", "why answers ended", table.take());
}

std::string retries_section(const Summary& summary, const LogTally& logs) {
  int64_t retries = 0;
  for (const RunFigures& run : summary.runs)
    retries += run.retries;
  if (logs.retried() == 0 && retries == 0) return "";
  std::string tiles = "<div class=\"tiles\">\n";
  tiles += page_tile("rows that took several attempts", with_thousands(logs.retried()));
  tiles += page_tile("of them succeeded", with_thousands(logs.retried_succeeded()));
  tiles += page_tile("attempts of all rows", with_thousands(logs.attempts()));
  if (logs.lost_tokens() > 0)
    tiles += page_tile("tokens of failed attempts", with_thousands(logs.lost_tokens()));
  return section("Retries", "", tiles + "</div>\n");
}

std::string servers_section(const Summary& summary) {
  const std::vector<ServerFigures> servers = servers_of(summary.runs);
  if (servers.empty()) return "";
  NumberTable table({"Server", "Answers", "Failed calls", "Latency", "In-flight window", "Found"});
  for (const ServerFigures& server : servers) {
    const auto latency_ms = static_cast<int64_t>(server.latency_s * 1000);
    table.row({server.name, with_thousands(server.answers), with_thousands(server.failures),
               latency_ms > 0 ? latency_text(latency_ms) : "",
               server.in_flight_max > 0 ? fmt::format("{}", server.in_flight_max) : "",
               server.finding});
  }
  return section("Servers", "of all runs; latency and window of the last", table.take());
}

std::string failures_section(const Summary& summary, const LogTally* logs) {
  if (summary.failures.empty()) return "";
  const std::vector<FailureKind> kinds =
      logs == nullptr ? std::vector<FailureKind>() : logs->failures();
  std::string html =
      "<section>\n<h2>Failures</h2>\n<table>\n<thead><tr><th class=\"number\">Rows</th>"
      "<th>Status</th><th>Code</th><th>For example</th></tr></thead>\n<tbody>\n";
  for (const FailureCount& failure : summary.failures) {
    std::string example;
    const auto kind = std::ranges::find_if(kinds, [&](const FailureKind& found) {
      return found.status == failure.status && found.code == failure.code;
    });
    if (kind != kinds.end()) {
      const std::string place =
          kind->example_id.empty()
              ? fmt::format("line {}", kind->example_line)
              : fmt::format("{}, line {}", kind->example_id, kind->example_line);
      example = fmt::format("{}: {}", place, kind->example_message);
    } else {
      example = failure.example;
    }
    html += fmt::format(
        "<tr><td class=\"number\">{}</td><td>{}</td><td><code>{}</code></td><td>{}</td></tr>\n",
        with_thousands(failure.rows), failure.status == 0 ? "" : fmt::format("{}", failure.status),
        page_text(failure.code), page_text(example));
  }
  return html + "</tbody>\n</table>\n</section>\n";
}

}  // namespace windrow::report
