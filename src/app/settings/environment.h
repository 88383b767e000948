// The environment variables as a value, so that only main reads those of the process.
#pragma once

#include <unistd.h>

#include <map>
#include <string>
#include <string_view>

namespace windrow::app {

using Environment = std::map<std::string, std::string>;

// A copy of the variables of the process. Call it before there are other threads.
inline Environment read_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

// Empty when it is not set.
inline std::string variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

}  // namespace windrow::app
