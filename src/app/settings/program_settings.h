// The settings of programs as the values that programs and their jobs take.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/settings/settings.h"
#include "base/result.h"
#include "batch/job_options.h"
#include "fleet/model_choice.h"
#include "program/limits.h"
#include "program/run/program_loop.h"
#include "store/disk.h"

namespace windrow::app {

// A program as it is named on the command line: a file, or, where no file has that name and it is
// neither a path nor *.lua, a program that Windrow ships. Errors: kNotFound, with the shipped ones;
// of the disk.
Result<program::Program> load_program(store::Disk& disk, const std::string& named);

// Pure.
program::ProgramLimits program_limits(const Settings& settings);

// What a resumed job must find unchanged besides the settings of any job: the program, the modules
// that are shipped, and the settings of programs that alter results. A limit that ends an instance
// is none of these, so that rows that hit it can be tried again with a higher one.
// `with_upstreams`: servers answer. Pure.
std::vector<batch::JobSetting> program_job_settings(const Settings& settings,
                                                    const program::Program& program,
                                                    bool with_upstreams);

// The name of the setting that a job of programs has and no other.
inline constexpr std::string_view kProgramSetting = "program";

// Errors: kInvalid where --program-model or --program-embed-model is none of the models. Pure.
Result<void> check_program_models(const Settings& settings,
                                  const std::vector<fleet::ModelChoice>& models);

// Errors: kInvalid for a file of --trace whose ending says no format; those of check_written_path.
Result<void> check_trace_path(const std::string& path);

// Whether a trace is written as JSON for Chrome, and not as text.
bool is_chrome_trace(const std::string& path);

}  // namespace windrow::app
