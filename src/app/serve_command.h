// `windrow serve`: models here or servers elsewhere behind OpenAI's API, until a signal ends it.
#pragma once

#include "app/command_line.h"
#include "app/environment.h"

namespace windrow::app {

// The exit code: 0 stopped as it was asked to, 2 the command, its files or its address are
// unusable, 3 the model or the server is, 130 requests were cut off.
int serve_command(const ServeCommand& command, const Environment& environment);

}  // namespace windrow::app
