// The commands of the program that need no header of their own. Each blocks until it has ended and
// returns the exit code: 0 for success, 2 when the command, its input or its output is unusable, 3
// when the model or its device is.
#pragma once

#include "app/commands/command_line.h"
#include "app/commands/probe_options.h"
#include "app/commands/sim_upstream_options.h"
#include "app/settings/environment.h"

namespace windrow::app {

// `windrow run`: a job from its start to its end. Also 1 when some rows failed, 4 when no more may
// be spent, 130 when it was interrupted.
int run_command(const RunCommand& command, const Environment& environment);

// `windrow serve`: a server, until a signal stops it. Also 130 when requests were cut off.
int serve_command(const ServeCommand& command, const Environment& environment);

// `windrow status`: prints how a job stands.
int status_command(const StatusCommand& command);

// `windrow probe`: measures how many requests in flight an upstream server is worth. Prints each
// measurement as it is known and a table at the end. The first Ctrl-C ends it with what is known,
// the second one at once.
int probe_command(const ProbeCommand& command, const Environment& environment);

// `windrow sim-upstream`: a simulated upstream server, until it is stopped. Prints where it
// listens. The first Ctrl-C lets requests in flight be answered for a few seconds, the second one
// does not.
int sim_upstream_command(const SimUpstreamCommand& command);

}  // namespace windrow::app
