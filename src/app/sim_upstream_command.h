// `windrow sim-upstream`: the simulated upstream as a server that runs until it is stopped.
#pragma once

#include "app/sim_upstream_options.h"

namespace windrow::app {

// Prints where it listens to standard output; the exit code of the program. Ctrl-C lets what is in
// flight be answered for a few seconds, a second one does not.
int sim_upstream_command(const SimUpstreamCommand& command);

}  // namespace windrow::app
