// `windrow run INPUT -o RESULTS --model MODEL`: the function that wires a job.
#pragma once

#include "app/command_line.h"
#include "app/environment.h"

namespace windrow::app {

// The exit code of the program: 0 all rows succeeded, 1 some failed, 2 the command, its input or
// its output is unusable, 3 the model or its device is, 130 interrupted.
int run_command(const RunCommand& command, const Environment& environment);

}  // namespace windrow::app
