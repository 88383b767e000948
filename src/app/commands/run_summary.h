// The summary of a job, from its counters and its result.
#pragma once

#include <string>

#include "base/result.h"
#include "batch/job_counters.h"
#include "batch/job_runner.h"
#include "report/summary.h"

namespace windrow::app {

// Fills in the end, the rows and the tokens.
void add_result(const batch::JobCounters& counters, const Result<batch::JobReport>& result,
                report::Summary& summary);

// Why a job stopped for its failures, and how to go on: "the first 100 rows all failed alike ...".
// `only_retried`: the job was to run failed rows only.
std::string failures_text(const batch::FailureStop& stop, const report::Summary& summary,
                          bool only_retried);

// Whether the run did anything: a run that was refused leaves the summary of the run before it.
bool did_something(const batch::JobCounters& counters, const Result<batch::JobReport>& result);

// "interrupted: 12 of 400 rows are done; run the same command again to continue".
std::string interrupted_text(const report::Summary& summary);

}  // namespace windrow::app
