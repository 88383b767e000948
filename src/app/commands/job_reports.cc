#include "app/commands/job_reports.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/commands/run_summary.h"
#include "base/format.h"
#include "llm/field_values.h"
#include "report/job_runs.h"
#include "report/job_status.h"

namespace windrow::app {
namespace {

void report_retried_rows(const batch::JobStart& start, Console& console) {
  if (start.retried == 0) return;
  console.note(fmt::format("{} failed {} again", with_thousands(start.retried),
                           start.retried == 1 ? "row runs" : "rows run"));
}

}  // namespace

void report_resume(const batch::JobStart& start, const batch::JobPaths& paths, Console& console) {
  if (!start.moved.empty()) {
    std::string names;
    for (const std::string& name : start.moved) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
    console.note(fmt::format("the earlier files are kept as {}", names));
  }
  if (start.resumed) {
    console.note(fmt::format("resuming: {} results and {} failures so far",
                             with_thousands(start.results_before),
                             with_thousands(start.errors_before)));
  }
  if (start.results_counted > 0) {
    console.warn(
        fmt::format("{} has {} rows with a result, but the last run counted {}: the missing "
                    "ones run again, and cost again",
                    paths.results, with_thousands(start.results_before),
                    with_thousands(start.results_counted)));
  }
  report_retried_rows(start, console);
  if (start.quarantined > 0) {
    console.warn(fmt::format(
        "{} of the results and errors {} not as Windrow wrote {}: {}; {} to {}, "
        "and rows without another line run again",
        start.quarantined == 1 ? "1 line"
                               : fmt::format("{} lines", with_thousands(start.quarantined)),
        start.quarantined == 1 ? "is" : "are", start.quarantined == 1 ? "it" : "them",
        start.quarantined_first, start.quarantined == 1 ? "it is moved" : "they are moved",
        paths.quarantine));
  }
  if (start.torn_bytes > 0) {
    console.note(
        fmt::format("an earlier run ended while it wrote; its last {} bytes are an incomplete "
                    "line, whose row runs again",
                    with_thousands(start.torn_bytes)));
  }
}

// A failure to write them spoils no result, so it is only a warning.
void write_reports(store::Disk& disk, const Clock& clock, report::Summary& summary,
                   const report::ThroughputHistory& history, Console& console) {
  report::load_runs(disk, summary);
  Result<std::vector<report::FailureCount>> failures =
      report::count_failures(disk, summary.files.errors);
  if (failures) summary.failures = *std::move(failures);
  if (!summary.report.empty() && !summary.ran() && disk.exists(summary.report)) {
    console.note(fmt::format("no row ran, so {} is unchanged", summary.report));
  } else if (!summary.report.empty()) {
    // Read once more from the start: a run knows its own rows only.
    const Result<report::JobStatus> job = report::read_job_status(disk, summary.files, clock);
    if (!job)
      console.warn(fmt::format("the report lacks what is in the logs: {}", job.error().message));
    const Result<void> report = disk.write_atomically(
        summary.report, report::report_html(summary, history, job ? job->tally.get() : nullptr));
    if (!report) {
      console.warn(fmt::format("there is no report: {}", report.error().message));
      summary.report.clear();
    }
  }
  const Result<void> written = report::write_summary(disk, summary);
  if (!written) console.warn(fmt::format("there is no summary: {}", written.error().message));
}

void report_missing_rows(const batch::JobReport& report, const std::string& input,
                         const batch::JobPaths& paths, Console& console) {
  if (report.rows_gone == 0) return;
  std::string named;
  for (const batch::GoneRow& row : report.gone) {
    named += row.custom_id.empty()
                 ? fmt::format("\n  line {}", row.line)
                 : fmt::format("\n  custom_id \"{}\" (was line {})", row.custom_id, row.line);
  }
  const auto more = report.rows_gone - static_cast<int64_t>(report.gone.size());
  if (more > 0) named += fmt::format("\n  and {} more", with_thousands(more));
  console.warn(fmt::format(
      "{} failed {} not in {} any more and did not run; {} in {}:{}",
      with_thousands(report.rows_gone), report.rows_gone == 1 ? "row is" : "rows are", input,
      report.rows_gone == 1 ? "its line stays" : "their lines stay", paths.errors, named));
}

// A field that was ignored may be a mistake, so each is named.
void report_ignored_fields(const batch::JobReport& report, Console& console) {
  for (const auto& [field, rows] : report.ignored_fields) {
    console.warn(fmt::format("the unknown field {} was ignored in {} {}", llm::shown(field),
                             with_thousands(rows), rows == 1 ? "row" : "rows"));
  }
}

void report_end(const report::Summary& summary, const Settings& settings, Console& console) {
  console.event("end", report::summary_to_json(summary));
  if (settings.summary) {
    console.show(report::summary_to_text(summary));
  } else if (!settings.json) {
    console.note(fmt::format("{} {} succeeded, {} failed", with_thousands(summary.rows_succeeded),
                             summary.rows_succeeded == 1 ? "row" : "rows",
                             with_thousands(summary.rows_failed)));
  }
  if (summary.end == report::RunEnd::kInterrupted) console.error(interrupted_text(summary));
}

}  // namespace windrow::app
