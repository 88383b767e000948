// `windrow config show`: every setting with its value and where that came from.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "app/commands/command_line.h"
#include "app/settings/resolve_settings.h"

namespace windrow::app {

// {"rows-max": {"value", "source"}, ...}; `set` has "sources" by field.
boost::json::object settings_json(const ResolvedSettings& settings);
std::string settings_text(const ResolvedSettings& settings);

// Print to standard output; the exit code of the program.
int config_show_command(const ConfigShowCommand& command, const Environment& environment);

// Every setting there is, for the manual page and the shell completions.
int config_flags_command();

}  // namespace windrow::app
