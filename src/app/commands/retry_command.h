// `windrow retry RESULTS.errors.jsonl`: the failed rows of a job once more. Finds out which job and
// which input that is; the rest is `windrow run` with only these rows.
#pragma once

#include "app/commands/command_line.h"
#include "app/process/console.h"
#include "app/settings/environment.h"
#include "batch/job_runner.h"

namespace windrow::app {

// The exit code of the program, as run_command's; 0 also where nothing failed.
int retry_command(const RetryCommand& command, const Environment& environment);

// What a run in which failed rows ran again has to say of them besides the rest.
void say_what_is_retried(const batch::JobStart& start, Console& console);
void say_what_is_gone(const batch::JobReport& report, const std::string& input,
                      const batch::JobPaths& paths, Console& console);

}  // namespace windrow::app
