#include "app/commands/command_context.h"

#include <string>
#include <utility>

#include "app/process/open_files.h"
#include "app/settings/resolve_settings.h"
#include "app/settings/run_options.h"
#include "batch/job_runner.h"

namespace windrow::app {

// Until the settings are known the console is one with the defaults.
CommandContext::CommandContext(const Environment& environment) : environment_(environment) {
  console_.emplace(ConsoleOptions{}, environment_, clock_);
}

Result<void> CommandContext::start(std::span<const GivenFlag> flags, SettingsOf command) {
  Result<ResolvedSettings> resolved = load_settings(flags, environment_, disk_);
  if (!resolved) return resolved.error();
  resolved_ = *std::move(resolved);
  console_.emplace(
      ConsoleOptions{.quiet = settings().quiet, .json = settings().json, .color = settings().color},
      environment_, clock_);
  for (const std::string& warning : resolved_->warnings)
    console_->warn(warning);
  for (const std::string& warning : warnings_of(*resolved_, command))
    console_->warn(warning);
  const Result<uint64_t> files_max = raise_open_files();
  if (!files_max) return files_max.error();
  files_max_ = *files_max;
  return {};
}

int CommandContext::fail(const Error& error) {
  console_->error(error.message);
  return batch::exit_code(error);
}

FleetSetting CommandContext::fleet_setting(int32_t requests_max) {
  return {.settings = settings(),
          .environment = environment_,
          .files_max = files_max_,
          .requests_max = requests_max,
          .disk = disk_,
          .clock = clock_,
          .events = *this};
}

void CommandContext::packed_call_sent(const std::string& upstream,
                                      const dispatch::SentBatch& call) {
  console_->event("batch", {{"upstream", upstream},
                            {"rows", call.rows},
                            {"tokens", call.tokens},
                            {"reason", dispatch::to_string(call.reason)}});
}

}  // namespace windrow::app
