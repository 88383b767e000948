// The flags of the commands that have few of them: `run` and `retry` beside their settings, and
// `status`, `inspect`, `config show` and `keys`. In the order of the help.
#pragma once

#include <span>

#include "app/commands/command_line.h"
#include "app/commands/flag_table.h"

namespace windrow::app {

std::span<const Flag<RunCommand>> run_flags();
std::span<const Flag<RetryCommand>> retry_flags();
std::span<const Flag<StatusCommand>> status_flags();
std::span<const Flag<InspectCommand>> inspect_flags();
std::span<const Flag<ConfigShowCommand>> config_show_flags();
std::span<const Flag<KeysAddCommand>> keys_add_flags();
std::span<const Flag<KeysListCommand>> keys_list_flags();

}  // namespace windrow::app
