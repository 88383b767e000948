// What `run` and `exec` say of a job: what they found at its start, and what became of it.
#pragma once

#include <string>

#include "app/process/console.h"
#include "app/settings/settings.h"
#include "base/clock.h"
#include "batch/job_paths.h"
#include "batch/job_runner.h"
#include "report/summary.h"
#include "report/throughput_history.h"
#include "store/disk.h"

namespace windrow::app {

// What an earlier run left, and what this one does about it.
void report_resume(const batch::JobStart& start, const batch::JobPaths& paths, Console& console);

// Rows to retry that are not in the input any more.
void report_missing_rows(const batch::JobReport& report, const std::string& input,
                         const batch::JobPaths& paths, Console& console);

// The fields that were left out of requests.
void report_ignored_fields(const batch::JobReport& report, Console& console);

// Counts the failures into the summary and the runs of the job, and writes summary and report. A
// failure to write them is only a warning.
void write_reports(store::Disk& disk, const Clock& clock, report::Summary& summary,
                   const report::ThroughputHistory& history, Console& console);

// The table at the end.
void report_end(const report::Summary& summary, const Settings& settings, Console& console);

}  // namespace windrow::app
