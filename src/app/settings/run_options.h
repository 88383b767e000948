// Settings -> what a job and its record are told, and what can be checked before a model is loaded.
#pragma once

#include <string>
#include <vector>

#include "app/commands/command_line.h"
#include "app/settings/resolve_settings.h"
#include "base/result.h"
#include "batch/job_options.h"
#include "fleet/fleet_options.h"
#include "llm/request_json.h"
#include "report/summary.h"

namespace windrow::app {

// Returns the setting --unknown-fields.
llm::UnknownFields unknown_fields_of(const Settings& settings);

// kInvalid for a default (--set) of a field that no body has, or of a value that no row could have.
Result<void> check_body_defaults(const ResolvedSettings& settings);

// Returns the settings that a continued job must find unchanged, as far as they are known before a
// model is loaded. kNotFound when a model's file cannot be read.
Result<std::vector<batch::JobSetting>> job_settings(const Settings& settings,
                                                    const std::vector<fleet::ModelChoice>& choices);

// Returns the settings that a continued job must find unchanged where servers elsewhere answer. Any
// of these may be exchanged.
std::vector<batch::JobSetting> upstream_job_settings(
    const Settings& settings, const std::vector<fleet::UpstreamChoice>& choices);

batch::JobOptions job_options(const RunCommand& command, const Settings& settings,
                              const std::vector<fleet::ModelChoice>& choices,
                              std::vector<batch::JobSetting> job_settings);
batch::JobOptions upstream_job_options(const RunCommand& command, const Settings& settings,
                                       std::vector<batch::JobSetting> job_settings);

// Lists the flags that mean nothing for who answers: "--rows-max has no effect with --upstream".
std::vector<std::string> warnings_of(const ResolvedSettings& settings, SettingsOf command);

// Every setting with its source, for the summary; each body default is one of its own, "set.seed".
std::vector<report::SummarySetting> settings_with_sources(const ResolvedSettings& settings);

// kInvalid for a folder. The job itself checks the rest.
Result<void> check_output_path(const std::string& path);

// kInvalid when one file is named for two purposes: the cache must not grow into the results.
Result<void> check_files_differ(const RunCommand& command, const Settings& settings);

// kInvalid or kNotFound when no page could be written there.
Result<void> check_report_path(const std::string& path);

}  // namespace windrow::app
