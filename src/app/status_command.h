// `windrow status RESULTS`: how a job stands.
#pragma once

#include "app/command_line.h"

namespace windrow::app {

// Prints to standard output; the exit code of the program: 0, or 2 when there is no such job or it
// cannot be read.
int status_command(const StatusCommand& command);

}  // namespace windrow::app
