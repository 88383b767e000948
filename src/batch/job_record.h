// The job record (RESULTS.job.json): the options that the results were made with, so that a job is
// not continued with others. It has no progress, so it cannot disagree with the results. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batch/job_options.h"

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

}  // namespace windrow::batch
