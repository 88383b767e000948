// windrow.toml: the settings of a file, as names and values with the line each came from.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/settings/environment.h"
#include "base/result.h"

namespace windrow::app {

// What is absent is as the flags say.
struct UpstreamEntry {
  std::string url;
  std::string api_key;  // never shown
  std::string api_key_env;
  std::string concurrency;
  std::optional<bool> serial;
  std::optional<int64_t> requests_per_minute;
  std::optional<int64_t> tokens_per_minute;
  std::map<std::string, std::string, std::less<>> models;
  std::string place;  // "windrow.toml:3"
};

// kInvalid for a table without a url, an unknown key (with the nearest one) or a value that its key
// does not take.
Result<UpstreamEntry> parse_upstream_entry(const boost::json::object& table,
                                           const std::string& place);

struct ConfigEntry {
  std::string name;        // of a setting that exists and may stand in a file
  std::string body_field;  // of a default in the table [set]; else empty
  boost::json::value value;
  std::string place;  // "windrow.toml:3"
};

struct ConfigFile {
  std::string path;
  std::vector<ConfigEntry> entries;
  std::vector<UpstreamEntry> upstreams;
};

// kInvalid for what is no TOML, for a key that is no setting (naming the nearest one) and for
// values that no setting takes (dates). Relative paths of models are meant from the folder of the
// file,
// "~/" from `home`.
Result<ConfigFile> parse_config(const std::string& path, std::string_view text,
                                const std::string& home);

// The file at a path, whole; kNotFound when there is none.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

// The files that are there, the strongest first: windrow.toml of the working folder, then
// windrow/config.toml of $XDG_CONFIG_HOME (~/.config where that is not set).
Result<std::vector<ConfigFile>> read_config_files(const Environment& environment,
                                                  const ReadText& read);

}  // namespace windrow::app
