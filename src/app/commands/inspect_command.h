// `windrow inspect MODEL`: describes a model file, which of its features Windrow can use, and the
// devices of this machine.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "app/settings/environment.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"

namespace windrow::app {

// The same facts as JSON for scripts and as a table for people.
boost::json::object inspection_json(const std::string& path, const engine::ModelFacts& facts,
                                    const std::vector<engine::Device>& devices);
std::string inspection_text(const std::string& path, const engine::ModelFacts& facts,
                            const std::vector<engine::Device>& devices);

// Prints to standard output and returns the exit code. Downloads a remote model first.
int inspect_command(const std::string& named, bool json, const Environment& environment);

}  // namespace windrow::app
