// `windrow retry RESULTS.errors.jsonl`: runs the failed rows of a job again. Finds the job and its
// input; the rest is `windrow run` with only these rows.
#pragma once

#include "app/commands/command_line.h"
#include "app/process/console.h"
#include "app/settings/environment.h"
#include "batch/job_runner.h"

namespace windrow::app {

// Returns the exit code as run_command does; 0 also where no row failed.
int retry_command(const RetryCommand& command, const Environment& environment);

// Print which failed rows run again, and which of them are not in the input any more.
void report_retried_rows(const batch::JobStart& start, Console& console);
void report_missing_rows(const batch::JobReport& report, const std::string& input,
                         const batch::JobPaths& paths, Console& console);

}  // namespace windrow::app
