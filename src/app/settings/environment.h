// The environment variables as a value, so that only main reads those of the process.
#pragma once

#include <map>
#include <string>

namespace windrow::app {

using Environment = std::map<std::string, std::string>;

// A copy of the variables of the process. Call it before there are other threads.
Environment read_environment();

// Empty when it is not set.
std::string variable(const Environment& environment, const std::string& name);

}  // namespace windrow::app
