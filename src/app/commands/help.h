// The texts of --help, made from the table of settings.
#pragma once

#include <string>

namespace windrow::app {

std::string help_text();
std::string run_help_text();
std::string retry_help_text();
std::string serve_help_text();
std::string status_help_text();
std::string inspect_help_text();
std::string config_help_text();
std::string keys_help_text();
std::string probe_help_text();
std::string sim_upstream_help_text();

}  // namespace windrow::app
