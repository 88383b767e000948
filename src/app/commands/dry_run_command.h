// `windrow run --dry-run`: counts the rows and tokens of the input and estimates the time.
#pragma once

#include "app/commands/select_fleet.h"
#include "app/process/console.h"
#include "app/settings/settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "batch/input.h"
#include "batch/job_options.h"
#include "report/dry_run.h"

namespace windrow::app {

// Prints the estimate and returns the exit code. Loads models and measures their speed; asks
// servers nothing, and prints the cost where --prices has it.
int dry_run_command(batch::Input& input, const batch::JobOptions& options,
                    const FleetChoice& choice, const Settings& settings, const Clock& clock,
                    Console& console);

}  // namespace windrow::app
