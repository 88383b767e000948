// `windrow run --dry-run`: what is in the input and about how long it would take.
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

// Prints what it found and gives back the exit code. Models are loaded; servers are asked nothing,
// and what rows would cost there is said where --prices tells.
int dry_run_command(batch::Input& input, const batch::JobOptions& options,
                    const FleetChoice& choice, const Settings& settings, const Clock& clock,
                    Console& console);

}  // namespace windrow::app
