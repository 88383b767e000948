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

// An upstream server as windrow.toml describes it:
//
//   [[upstreams]]
//   url = "http://gpu2:8000/v1"
//   api-key-env = "GPU2_KEY"          # or api-key = "...", which only a file may hold
//   concurrency = 16                  # or "auto"
//   models = { "gpt-4o" = "llama3" }  # the name in rows = the name at the server
//
// Members that are absent or empty are as the flags say.
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

// Errors: kInvalid for a table without a url, an unknown key (with the nearest one) or a value that
// its key does not accept.
Result<UpstreamEntry> parse_upstream_entry(const boost::json::object& table,
                                           const std::string& place);

struct ConfigEntry {
  std::string name;        // a setting that may be given in a file
  std::string body_field;  // for a default in the table [set]; else empty
  boost::json::value value;
  std::string place;  // "windrow.toml:3"
};

struct ConfigFile {
  std::string path;
  std::vector<ConfigEntry> entries;
  std::vector<UpstreamEntry> upstreams;
};

// Relative paths of models are relative to the folder of the file, "~/" to `home`. Errors: kInvalid
// for text that is no TOML, a key that is no setting (with the nearest one) and values that no
// setting accepts (dates).
Result<ConfigFile> parse_config(const std::string& path, std::string_view text,
                                const std::string& home);

// Reads the whole file at a path; kNotFound when there is none.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

// The files that exist, the strongest first: windrow.toml of the working folder, then
// windrow/config.toml of $XDG_CONFIG_HOME (~/.config where that is not set). Errors: those of
// parse_config and of `read`.
Result<std::vector<ConfigFile>> read_config_files(const Environment& environment,
                                                  const ReadText& read);

// Only this file, which must be there: --config. Errors as above, and kNotFound.
Result<std::vector<ConfigFile>> read_config_file(const std::string& path,
                                                 const Environment& environment,
                                                 const ReadText& read);

}  // namespace windrow::app
