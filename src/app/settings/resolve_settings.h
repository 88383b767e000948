// Which of the places that may hold a setting counts: flag, then variable, then file, then default.
// The settings of this call: flags, variables and files together.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "app/settings/config_file.h"
#include "app/settings/environment.h"
#include "app/settings/settings.h"
#include "base/result.h"
#include "store/disk.h"

namespace windrow::app {

// A flag as it stood on the command line.
struct GivenFlag {
  const SettingRow* row = nullptr;
  std::string written;  // "--rows-max", "--no-ordered"
  std::string text;     // its value; "true" or "false" for what is on or off
};

struct ResolvedSettings {
  Settings values;

  // By name of the setting: "flag --ctx", "WINDROW_CTX", "windrow.toml:3"; not in it: the default.
  std::map<std::string, std::string, std::less<>> sources;

  // The same by body field, for the defaults of `set`, which add up over all places.
  std::map<std::string, std::string, std::less<>> body_default_sources;

  // What the files say of servers, the strongest file first; whether one is used says
  // `values.upstreams`.
  std::vector<UpstreamEntry> upstreams;

  // What looks like a mistake but may not be one.
  std::vector<std::string> warnings;

  // "default" where nothing else was said.
  std::string source_of(const SettingRow& row) const;
};

// `files`: the strongest first. Of --model and --upstream the one from the stronger place counts.
// kInvalid for a value that its row does not take, and for both of these from one place.
Result<ResolvedSettings> resolve_settings(std::span<const GivenFlag> flags,
                                          const Environment& environment,
                                          std::span<const ConfigFile> files);

Result<ResolvedSettings> load_settings(std::span<const GivenFlag> flags,
                                       const Environment& environment, store::Disk& disk);

}  // namespace windrow::app
