// Which job somebody means who names one of its files.
#pragma once

#include <string>

#include "base/result.h"
#include "batch/job_paths.h"
#include "store/disk.h"

namespace windrow::report {

// `path` is the results ("out/results.jsonl") or the errors ("out/results.errors.jsonl"): of the
// latter, the results are looked for under the endings that they may have.
//   kNotFound  there is no file of this name, or it has no job: neither a record nor errors lie
//              beside it, as with an input
//   kInvalid   a name that neither can have; errors that two files of results lie beside
Result<batch::JobPaths> find_job(const store::Disk& disk, const std::string& path);

}  // namespace windrow::report
