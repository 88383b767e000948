// `windrow probe`: how many requests in flight an upstream is worth.
#pragma once

#include "app/environment.h"
#include "app/probe_options.h"

namespace windrow::app {

// Says each measurement as it is known and the table at the end; the exit code of the program.
// Ctrl-C ends it with what is known so far, a second one at once.
int probe_command(const ProbeCommand& command, const Environment& environment);

}  // namespace windrow::app
