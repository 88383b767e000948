// The environment variables as a value, so that nothing but main reads the process's own.
#pragma once

#include <map>
#include <string>

namespace windrow::app {

using Environment = std::map<std::string, std::string>;

// A copy of the process's variables. Call before there are threads.
Environment read_environment();

// Empty when it is not there.
std::string variable(const Environment& environment, const std::string& name);

}  // namespace windrow::app
