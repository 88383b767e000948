// The report of a simulation when an invariant does not hold: the seed, the moment, the last events
// and the command that repeats it. It ends the process, whatever its threads were doing.
#pragma once

#include <string>
#include <string_view>

#include "simulate/trace.h"

namespace windrow::simulate {

// Called once, before a simulation: sets what is reported. `trace` outlives it. A process that ends
// itself (ENSURE, an uncaught exception) then reports the same.
void report_about(std::string command, const Trace& trace);

// Where the simulation is now, for the report: "generation 2".
void report_moment(std::string moment);

// Any thread of a run, or the one that runs it.
[[noreturn]] void broken(std::string_view invariant, std::string_view what);

// Calls broken() unless `holds`.
#define INVARIANT(holds, name, ...)                \
  (static_cast<bool>(holds) ? static_cast<void>(0) \
                            : ::windrow::simulate::broken(name, ::fmt::format(__VA_ARGS__)))

}  // namespace windrow::simulate
