// JobPaths: the names of a job's files, all derived from that of its results; which names can be
// used, to which job a file belongs, and how --fresh moves the files of an earlier job away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/disk.h"

namespace windrow::batch {

// For RESULTS = "out/results.jsonl":
struct JobPaths {
  std::string results;     // out/results.jsonl             successes, one line a row
  std::string errors;      // out/results.errors.jsonl      failures, one line a row
  std::string summary;     // out/results.summary.json      written when a run ends
  std::string record;      // out/results.job.json          the options that alter answers
  std::string quarantine;  // out/results.quarantine.jsonl  lines that were taken out of the logs
  std::string lock;        // out/results.lock              held while a process runs the job
  std::string progress;    // out/results.progress.json     there while a process runs its rows

  // The same names for "out/results.old-N.jsonl": a job that --fresh moved away.
  JobPaths old(int32_t n) const;

  // The results file of the name `name` in the same folder; and the names with any other ending for
  // which the other files would be the same.
  std::string results_named(std::string_view name) const;
  std::vector<std::string> other_results() const;

  friend bool operator==(const JobPaths&, const JobPaths&) = default;
};

// kInvalid for a name that cannot be an output: empty, "-", a folder, or one ending in .gz or .zst.
Result<JobPaths> job_paths(const std::string& output_path);

// kInvalid for a folder, a device, a pipe or a socket: they keep no log, and a file renamed to that
// name would replace them. `what` names the file in the message: "the output".
Result<void> check_output_file(std::string_view what, const std::string& path);

struct Move {
  std::string from;
  std::string to;

  friend bool operator==(const Move&, const Move&) = default;
};

// --fresh: the moves that free the names of the job: every file, to the first old(n) that is free.
// The record comes first: files left without one, when the process is killed in between, are
// refused until --fresh is given again. The summary is next, because it speaks of the results.
std::vector<Move> plan_fresh_moves(const store::Disk& disk, const JobPaths& paths);

// Renames one file after the other, each synced before the next. kIo, kDiskFull.
Result<void> move_all(store::Disk& disk, const std::vector<Move>& moves);

// The job of a file that a user names: its results ("out/results.jsonl"), or its errors
// ("out/results.errors.jsonl"), for which the results are searched under the usual endings.
//   kNotFound  there is no such job: neither a record nor errors, as for the input of a job
//   kInvalid   a name that neither file can have; an errors file that belongs to two results files
Result<JobPaths> find_job(const store::Disk& disk, const std::string& path);

}  // namespace windrow::batch
