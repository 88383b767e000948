// What an earlier run of a job left beside its logs, for later runs: the job record and the
// summary.
//
// The job record (RESULTS.job.json) has the options that the results were made with, so that a job
// is not continued with others. It has no progress, so it cannot disagree with the results.
//
// Pure, except where a function takes a disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batch/job_options.h"
#include "batch/job_paths.h"
#include "store/disk.h"

namespace windrow::batch {

struct JobRecord {
  std::string input;  // for people; a job may continue with another input

  // The file name of the results, without its folder: results with another ending would use the
  // same record. Empty in records of early versions.
  std::string results = {};
  std::vector<JobSetting> settings;

  // When the job began, which is the date in its prompts also on later days. Absent in records of
  // early versions.
  std::optional<int64_t> began_unix_s = std::nullopt;

  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

// The text of the file.
std::string job_record_text(const JobRecord& record);

// kInvalid when the text is not a job record, or one of a later format; `path` is for the message.
Result<JobRecord> parse_job_record(std::string_view text, const std::string& path);

// A setting that differs; absent where one side does not have it.
struct SettingChange {
  std::string name;
  std::optional<std::string> before;
  std::optional<std::string> now;

  friend bool operator==(const SettingChange&, const SettingChange&) = default;
};

// The differences in the order of `now`, then those that only `before` has.
std::vector<SettingChange> changed_settings(const std::vector<JobSetting>& before,
                                            const std::vector<JobSetting>& now);

// The same while settings are still missing in `now`: only differences in names that it has.
std::vector<SettingChange> changed_so_far(const std::vector<JobSetting>& before,
                                          const std::vector<JobSetting>& now);

// kConflict, naming each change, old -> new. `results` is the name of the results file.
Error changed_settings_error(const std::vector<SettingChange>& changes, const std::string& results);

// JobRecord::results for these options.
std::string results_name(const JobOptions& options);

// The settings of the options, and the body defaults as settings "set FIELD".
std::vector<JobSetting> settings_of(const JobOptions& options);

// What the summary file says about the last run of a job, as far as later runs need it.
struct LastRun {
  std::string end;  // "completed", "interrupted" or "failed"
  std::string error;
  int64_t rows_total = -1;  // -1: not known
  int64_t rows_left = -1;
  int64_t rows_succeeded = -1;

  // The lengths of the logs when it ended; -1 where the summary does not say.
  int64_t results_bytes = -1;
  int64_t errors_bytes = -1;
};

// Returns nothing if the text is not a summary.
std::optional<LastRun> read_last_run(std::string_view summary);

// Finds out whether results of the last run were removed: their rows would be asked and paid for
// again. `lines` is the number of lines in the results file now. Returns how many rows with a
// result the last run counted, if that is more, else 0. kConflict where all are gone: the message
// says what to do.
Result<int64_t> find_lost_results(store::Disk& disk, const JobPaths& paths, int64_t lines);

}  // namespace windrow::batch
