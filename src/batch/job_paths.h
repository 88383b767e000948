// JobPaths: the names of a job's files, all derived from RESULTS.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::batch {

// For RESULTS = "out/results.jsonl":
struct JobPaths {
  std::string results;     // out/results.jsonl             successes, one line a row
  std::string errors;      // out/results.errors.jsonl      failures, one line a row
  std::string summary;     // out/results.summary.json      written when a run ends
  std::string record;      // out/results.job.json          the options that alter answers
  std::string quarantine;  // out/results.quarantine.jsonl  lines that were taken out of the logs
  std::string lock;        // out/results.lock              held while a run goes on

  // The same six for "out/results.old-N.jsonl": a job put aside by --fresh.
  JobPaths old(int32_t n) const;

  // The results that `name`, a file name, stands for beside these other files; and those of every
  // other ending, which would have the same files beside them.
  std::string results_named(std::string_view name) const;
  std::vector<std::string> other_results() const;

  friend bool operator==(const JobPaths&, const JobPaths&) = default;
};

// kInvalid for a name that cannot be meant: empty, "-", a folder, or one that ends in .gz or .zst.
Result<JobPaths> job_paths(const std::string& output_path);

}  // namespace windrow::batch
