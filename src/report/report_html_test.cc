#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>

#include "batch/result_line.h"
#include "report/log_tally.h"
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
  summary.settings = {{"rows-max", 16, "windrow.toml:1"}, {"ctx", 4096, "default"}};
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
  const std::string html = report_html(example(), history_of(std::chrono::minutes(10)), nullptr);
  EXPECT_TRUE(is_well_formed(html));
  EXPECT_EQ(count(html, "<svg "), 3U);
  EXPECT_EQ(count(html, "class=\"line first\""), 3U);
  EXPECT_EQ(count(html, "class=\"line second\""), 1U);
  EXPECT_NE(html.find("<h1>requests.jsonl: completed</h1>"), std::string::npos);
  EXPECT_NE(html.find("<td class=\"number\">12</td><td>404</td><td><code>model_not_found</code>"),
            std::string::npos);
  EXPECT_NE(html.find("<td>rows-max</td><td><code>16</code></td><td>windrow.toml:1</td>"),
            std::string::npos);
  EXPECT_EQ(html.find("ctx"), std::string::npos) << "a default is not worth a line";
}

// The logs of a job of `rows` rows, and some failures.
std::unique_ptr<LogTally> logs_of(int rows) {
  auto logs = std::make_unique<LogTally>();
  for (int i = 0; i < rows; ++i) {
    batch::RowKey key{.line = static_cast<uint64_t>(i) + 1, .custom_id = fmt::format("r{}", i)};
    key.identity = batch::row_identity(key.custom_id);
    const bool failed = i % 10 == 9;
    const batch::Tries tries{.attempts = i % 5 == 0 ? 2 : 1};
    if (failed) {
      const std::string line = batch::error_line(
          {.key = key,
           .failure = {.status = 404, .code = "model_not_found", .message = "there is no <m>"}},
          tries);
      EXPECT_TRUE(logs->read(batch::LogKind::kErrors, 1, line.substr(0, line.size() - 1)));
      logs->count_failure();
      continue;
    }
    llm::Answer answer;
    answer.choices = {
        {.text = "a",
         .finish_reason = i % 3 == 0 ? llm::FinishReason::kLength : llm::FinishReason::kStop}};
    answer.usage = {.prompt_tokens = 100 + i, .completion_tokens = 1 + i % 40};
    answer.timings = {.queue_ms = 5, .prefill_ms = 20, .decode_ms = 10 * (i % 60)};
    const std::string line =
        batch::result_line(key, llm::Endpoint::kCompletions, "m", answer, tries, 0);
    EXPECT_TRUE(logs->read(batch::LogKind::kResults, 1, line.substr(0, line.size() - 1)));
    logs->count_result();
  }
  return logs;
}

TEST(ReportHtml, CoversTheWholeJob) {
  Summary summary = example();
  summary.rows_before = 900;
  summary.runs = {{.started_unix_s = 1795286129,
                   .end = "interrupted",
                   .running_s = 300,
                   .rows = 900,
                   .retries = 4,
                   .servers = {{.name = "gpu1:8000",
                                .answers = 890,
                                .failures = 4,
                                .in_flight_max = 12,
                                .latency_s = 0.5,
                                .finding = "saturates"}}},
                  {.started_unix_s = 1795290000,
                   .end = "completed",
                   .running_s = 60,
                   .rows = 300,
                   .servers = {{.name = "gpu1:8000", .answers = 310, .in_flight_max = 16}}}};
  const std::unique_ptr<LogTally> logs = logs_of(1000);
  const std::string html = report_html(summary, history_of(std::chrono::minutes(10)), logs.get());
  EXPECT_TRUE(is_well_formed(html));
  EXPECT_EQ(count(html, "<svg "), 6U) << "three of the run, latency, prompts, answers";
  for (const char* part :
       {"<h2>Runs <span class=\"unit\">1,200 rows in 6 min 0 s of running</span>", "2026-11-21",
        "<h2>The last run</h2>", "<h2>Latency ", "Whole row", "<h2>Lengths ", "<h2>Finish reasons ",
        "<td>length</td>", "<h2>Retries ", "rows that took several attempts",
        "<td>gpu1:8000</td><td class=\"number\">1,200</td><td class=\"number\">4</td>",
        "r9, line 10: there is no &lt;m&gt;"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  EXPECT_LT(html.size(), 300'000U);
}

TEST(ReportHtml, OfOneRunWithoutServersHasNoTablesOfThem) {
  Summary summary = example();
  summary.runs = {{.rows = 1200}};
  const std::unique_ptr<LogTally> logs = logs_of(3);
  const std::string html = report_html(summary, ThroughputHistory(), logs.get());
  EXPECT_TRUE(is_well_formed(html));
  EXPECT_EQ(html.find("<h2>Runs"), std::string::npos);
  EXPECT_EQ(html.find("<h2>Servers"), std::string::npos);
  EXPECT_NE(html.find("<h2>The run</h2>"), std::string::npos);
}

TEST(ReportHtml, NeedsNothingFromElsewhereAndRunsNothing) {
  const std::string html = report_html(example(), history_of(std::chrono::minutes(10)), nullptr);
  for (const char* banned :
       {"http", "<script", "<link", "<img", "<iframe", "url(", "@import", "onload", "onclick"}) {
    EXPECT_EQ(html.find(banned), std::string::npos) << banned;
  }
}

TEST(ReportHtml, StaysSmallHoweverLongTheRunWas) {
  EXPECT_LT(report_html(example(), history_of(hours(24 * 30)), nullptr).size(), 250'000U);
}

TEST(ReportHtml, EveryLengthOfARunCanBeDrawn) {
  for (const Duration length :
       {Duration(milliseconds(300)), Duration(seconds(7)), Duration(seconds(59)),
        Duration(hours(1)), Duration(hours(30)), Duration(hours(24 * 400))}) {
    const std::string html = report_html(example(), history_of(length), nullptr);
    EXPECT_TRUE(is_well_formed(html)) << windrow::seconds(length);
    EXPECT_EQ(html.find("nan"), std::string::npos) << windrow::seconds(length);
    EXPECT_EQ(html.find("inf"), std::string::npos) << windrow::seconds(length);
    EXPECT_LE(count(html, "text-anchor=\"middle\""), 3U * 9U) << windrow::seconds(length);
  }
}

TEST(ReportHtml, ARunWithoutRowsHasNoCharts) {
  const std::string html = report_html(example(), ThroughputHistory(), nullptr);
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
  const std::string html = report_html(summary, history_of(seconds(60)), nullptr);
  EXPECT_TRUE(is_well_formed(html));
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("a &quot;quoted&quot; &amp; &lt;b&gt;bold&lt;/b&gt; error \xEF\xBF\xBD"),
            std::string::npos);
  EXPECT_NE(html.find("&lt;/table&gt;"), std::string::npos);
  EXPECT_NE(html.find("it&#39;s"), std::string::npos);
}

}  // namespace
}  // namespace windrow::report
