// The job record (RESULTS.job.json): with which options the results beside it were made, so that a
// job is not continued with others. It holds no progress, so it cannot disagree with the results.
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
  std::string input;  // for people; another input is no reason to stop

  // The file name of the results, without its folder; empty in early records. Results of another
  // ending would have the same files beside them.
  std::string results = {};
  std::vector<JobSetting> settings;

  // Prompts that tell the date tell this one, also on another day; absent in early records.
  std::optional<int64_t> began_unix_s = std::nullopt;

  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

std::string job_record_text(const JobRecord& record);

// kInvalid when it is not such a record, or one of a later format; `path` is for the message.
Result<JobRecord> parse_job_record(std::string_view text, const std::string& path);

// Nothing stands for a setting that one side does not have.
struct SettingChange {
  std::string name;
  std::optional<std::string> before;
  std::optional<std::string> now;

  friend bool operator==(const SettingChange&, const SettingChange&) = default;
};

// In the order of `now`, then what only `before` has.
std::vector<SettingChange> changed_settings(const std::vector<JobSetting>& before,
                                            const std::vector<JobSetting>& now);

// Of `changes`, those that are sure before all settings are known: of names that `now` has.
std::vector<SettingChange> changed_so_far(const std::vector<JobSetting>& before,
                                          const std::vector<JobSetting>& now);

// kConflict, each change named, old -> new. `results` is the name of the results.
Error changed_settings_error(const std::vector<SettingChange>& changes, const std::string& results);

// JobRecord::results of these options.
std::string results_name(const JobOptions& options);

// The settings of the options with the body defaults after them, as "set FIELD".
std::vector<JobSetting> settings_of(const JobOptions& options);

}  // namespace windrow::batch
