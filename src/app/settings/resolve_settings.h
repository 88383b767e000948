// Where the value of a setting comes from: flag, then variable, then file, then default.
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

// A flag of the command line.
struct GivenFlag {
  const SettingRow* row = nullptr;
  std::string written;  // "--rows-max", "--no-ordered"
  std::string text;     // its value; "true" or "false" for a switch
};

struct ResolvedSettings {
  Settings values;

  // By name of the setting: "flag --ctx", "WINDROW_CTX", "windrow.toml:3"; not in it: the default.
  // See source_of.
  std::map<std::string, std::string, std::less<>> sources;

  // The same by body field, for the defaults of `set`, which add up over all sources.
  std::map<std::string, std::string, std::less<>> body_default_sources;

  // What the files say about servers, the strongest file first. `values.upstreams` tells which
  // servers are used.
  std::vector<UpstreamEntry> upstreams;

  // About values that look like a mistake but may not be one.
  std::vector<std::string> warnings;

  // "default" for a setting that was not given.
  std::string source_of(const SettingRow& row) const;
};

// `files`: the strongest first. Of --model and --upstream the one from the stronger source counts.
// Errors: kInvalid for a value that its row does not accept, and for both of these from one source.
Result<ResolvedSettings> resolve_settings(std::span<const GivenFlag> flags,
                                          const Environment& environment,
                                          std::span<const ConfigFile> files);

// The same, with the file of --config, else with the configuration files that exist. Errors: also
// those of read_config_file and read_config_files.
Result<ResolvedSettings> load_settings(std::span<const GivenFlag> flags,
                                       const Environment& environment, store::Disk& disk);

}  // namespace windrow::app
