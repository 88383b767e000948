#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "report/summary.h"
#include "report/throughput_history.h"

namespace windrow::report {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

Summary example() {
  Summary summary{.version = "0.1.0",
                  .runtime = "libllama 0.7.0",
                  .end = RunEnd::kCompleted,
                  .input = "requests.jsonl",
                  .files = *batch::job_paths("results.jsonl"),
                  .running = std::chrono::minutes(10),
                  .rows_total = 1200,
                  .rows_succeeded = 1188,
                  .rows_failed = 12,
                  .failures = {{404, "model_not_found", 12}},
                  .rows_this_run = 1200};
  summary.settings = {{"rows-max", 16, "windrow.toml:1"}};
  return summary;
}

ThroughputHistory history_of(Duration length) {
  ThroughputHistory history;
  const Duration tick = length / 3000;
  for (int64_t i = 0; i <= 3000; ++i) {
    ProgressReading reading{.at = TimePoint(tick * i), .rows_this_run = i / 5};
    reading.backend.prompt_tokens =
        300 * i + static_cast<int64_t>(5000 * std::sin(0.01 * static_cast<double>(i)));
    reading.backend.generated_tokens = 40 * i;
    reading.backend.rows_running = i < 2900 ? 16 : 4;
    history.observe(reading);
  }
  return history;
}

// Whether every tag is closed by its own kind, in order: the page is written as XML would be, but
// for the tags that HTML leaves open.
::testing::AssertionResult is_well_formed(std::string_view html) {
  const std::set<std::string_view> never_closed = {"meta"};
  std::vector<std::string_view> open;
  size_t at = html.find('>') + 1;  // behind <!DOCTYPE html>
  while (true) {
    at = html.find('<', at);
    if (at == std::string_view::npos) break;
    const size_t end = html.find('>', at);
    if (end == std::string_view::npos) return ::testing::AssertionFailure() << "a tag has no end";
    const std::string_view tag = html.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.ends_with('/')) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) {
        return ::testing::AssertionFailure() << "<" << tag << "> closes nothing";
      }
      open.pop_back();
      continue;
    }
    const std::string_view name = tag.substr(0, tag.find(' '));
    if (never_closed.contains(name)) continue;
    open.push_back(name);
  }
  if (!open.empty()) return ::testing::AssertionFailure() << open.back() << " is never closed";
  return ::testing::AssertionSuccess();
}

size_t count(std::string_view text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(ReportHtml, HasChartsFailuresFilesAndSettings) {
  const std::string html = report_html(example(), history_of(std::chrono::minutes(10)));
  EXPECT_TRUE(is_well_formed(html));
  EXPECT_EQ(count(html, "<svg "), 3U);
  EXPECT_EQ(count(html, "class=\"line first\""), 3U);
  EXPECT_EQ(count(html, "class=\"line second\""), 1U);
  EXPECT_NE(html.find("<h1>requests.jsonl: completed</h1>"), std::string::npos);
  EXPECT_NE(html.find("<td class=\"number\">12</td><td>404</td><td><code>model_not_found</code>"),
            std::string::npos);
  EXPECT_NE(html.find("<td>rows-max</td><td><code>16</code></td><td>windrow.toml:1</td>"),
            std::string::npos);
}

TEST(ReportHtml, NeedsNothingFromElsewhereAndRunsNothing) {
  const std::string html = report_html(example(), history_of(std::chrono::minutes(10)));
  for (const char* banned :
       {"http", "<script", "<link", "<img", "<iframe", "url(", "@import", "onload", "onclick"}) {
    EXPECT_EQ(html.find(banned), std::string::npos) << banned;
  }
}

TEST(ReportHtml, StaysSmallHoweverLongTheRunWas) {
  EXPECT_LT(report_html(example(), history_of(hours(24 * 30))).size(), 250'000U);
}

TEST(ReportHtml, EveryLengthOfARunCanBeDrawn) {
  for (const Duration length :
       {Duration(milliseconds(300)), Duration(seconds(7)), Duration(seconds(59)),
        Duration(hours(1)), Duration(hours(30)), Duration(hours(24 * 400))}) {
    const std::string html = report_html(example(), history_of(length));
    EXPECT_TRUE(is_well_formed(html)) << windrow::seconds(length);
    EXPECT_EQ(html.find("nan"), std::string::npos) << windrow::seconds(length);
    EXPECT_EQ(html.find("inf"), std::string::npos) << windrow::seconds(length);
    EXPECT_LE(count(html, "text-anchor=\"middle\""), 3U * 9U) << windrow::seconds(length);
  }
}

TEST(ReportHtml, ARunWithoutRowsHasNoCharts) {
  const std::string html = report_html(example(), ThroughputHistory());
  EXPECT_TRUE(is_well_formed(html));
  EXPECT_EQ(count(html, "<svg "), 0U);
  EXPECT_NE(html.find("No row ran long enough"), std::string::npos);
}

TEST(ReportHtml, NamesAndTextsCannotBreakOut) {
  Summary summary = example();
  summary.end = RunEnd::kFailed;
  summary.input = "<script>alert(1)</script>.jsonl";
  summary.error = "a \"quoted\" & <b>bold</b> error \xff";
  summary.failures = {{400, "</table>", 1}};
  summary.settings = {{"set.user", "<i>", "it's"}};
  const std::string html = report_html(summary, history_of(seconds(60)));
  EXPECT_TRUE(is_well_formed(html));
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("a &quot;quoted&quot; &amp; &lt;b&gt;bold&lt;/b&gt; error \xEF\xBF\xBD"),
            std::string::npos);
  EXPECT_NE(html.find("&lt;/table&gt;"), std::string::npos);
  EXPECT_NE(html.find("it&#39;s"), std::string::npos);
}

}  // namespace
}  // namespace windrow::report
