// CommandContext: clock, disk, settings and console of `run` and `serve`, from their start to their
// end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "app/commands/select_fleet.h"
#include "app/process/console.h"
#include "app/settings/environment.h"
#include "app/settings/resolve_settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "store/posix_disk.h"

namespace windrow::app {

// Used by the thread of the command. Console, clock and disk may be used by all threads.
class CommandContext final : public fleet::FleetEvents {
 public:
  // `environment` outlives it.
  explicit CommandContext(const Environment& environment);

  // Reads the settings, prints warnings about them, and raises the number of files that the process
  // may open. The getters below are for afterwards. Errors: kInvalid and those of the configuration
  // files.
  Result<void> start(std::span<const GivenFlag> flags, SettingsOf command);

  // Prints the error; returns the exit code of the program.
  int fail(const Error& error);

  const SystemClock& clock() const { return clock_; }
  store::PosixDisk& disk() { return disk_; }
  const Environment& environment() const { return environment_; }
  Console& console() { return *console_; }
  const ResolvedSettings& resolved() const { return *resolved_; }
  const Settings& settings() const { return resolved_->values; }
  uint64_t files_max() const { return files_max_; }  // that the process may have open

  Result<FleetChoice> choose() { return choose_fleet(*resolved_, environment_, disk_); }

  // For a fleet with at most so many requests to servers in flight.
  FleetSetting fleet_setting(int32_t requests_max);

  // FleetEvents
  void note(const std::string& text) override { console_->note(text); }
  void warn(const std::string& text) override { console_->warn(text); }
  void packed_call_sent(const std::string& upstream, const dispatch::SentBatch& call) override;

 private:
  const Environment& environment_;
  const SystemClock clock_;
  store::PosixDisk disk_;
  std::optional<ResolvedSettings> resolved_;
  std::optional<Console> console_;
  uint64_t files_max_ = 0;
};

}  // namespace windrow::app
