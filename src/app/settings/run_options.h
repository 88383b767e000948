// Settings as the options and the record of a job, and the checks before a model is loaded.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/command_line.h"
#include "app/settings/resolve_settings.h"
#include "base/result.h"
#include "batch/failure_watch.h"
#include "batch/job_options.h"
#include "fleet/fleet_options.h"
#include "llm/request_json.h"
#include "report/summary.h"

namespace windrow::app {

// Returns the setting --unknown-fields.
llm::UnknownFields unknown_fields_of(const Settings& settings);

// Checks the defaults (--set). Errors: kInvalid for a field that no body has, or a value that no
// row could have.
Result<void> check_body_defaults(const ResolvedSettings& settings);

// The settings that a resumed job must find unchanged, as far as they are known before a model is
// loaded. Errors: kNotFound when a model's file cannot be read.
Result<std::vector<batch::JobSetting>> job_settings(const Settings& settings,
                                                    const std::vector<fleet::ModelChoice>& choices);

// The same where upstream servers answer. The servers themselves may change.
std::vector<batch::JobSetting> upstream_job_settings(
    const Settings& settings, const std::vector<fleet::UpstreamChoice>& choices);

batch::JobOptions job_options(const RunCommand& command, const Settings& settings,
                              const std::vector<fleet::ModelChoice>& choices,
                              std::vector<batch::JobSetting> job_settings);
batch::JobOptions upstream_job_options(const RunCommand& command, const Settings& settings,
                                       std::vector<batch::JobSetting> job_settings);

// --max-failures. Errors: kInvalid for what is neither "all" nor a number from 1 up.
Result<batch::FailureLimit> failure_limit_of(const Settings& settings);

// The options of a job about its files and about which rows run: those of any kind of rows.
batch::JobOptions options_of_files(const std::string& input, const std::string& output,
                                   const Settings& settings,
                                   std::vector<batch::JobSetting> job_settings);

// Warnings about flags without an effect: "--rows-max has no effect with --upstream".
std::vector<std::string> warnings_of(const ResolvedSettings& settings, SettingsOf command);

// Every setting with its source, for the summary; each body default is one of its own, "set.seed".
std::vector<report::SummarySetting> settings_with_sources(const ResolvedSettings& settings);

// Errors: kInvalid for a folder. The job itself checks the rest.
Result<void> check_output_path(const std::string& path);

struct NamedFile {
  std::string_view what;  // in messages: "--trace"
  std::string path;       // empty: none
};

// Errors: kInvalid when one file is named for two purposes: the cache must not be written into the
// results. `more`: files besides those of the job and of the settings.
Result<void> check_files_differ(const std::string& input, const std::string& output,
                                const Settings& settings, std::span<const NamedFile> more = {});

// Errors: kInvalid or kNotFound when the file of a flag, such as --report, could not be written
// there.
Result<void> check_written_path(std::string_view flag, const std::string& path);

}  // namespace windrow::app
