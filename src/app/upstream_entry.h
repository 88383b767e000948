// A server as windrow.toml describes it:
//
//   [[upstreams]]
//   url = "http://gpu2:8000/v1"
//   api-key-env = "GPU2_KEY"          # or api-key = "...", which only a file may hold
//   concurrency = 16                  # or "auto"
//   models = { "gpt-4o" = "llama3" }  # what rows call it = what the server calls it
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

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

}  // namespace windrow::app
