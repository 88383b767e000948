// Who answers the rows of a run, as far as that can be known without opening anything.
#pragma once

#include <memory>
#include <vector>

#include "app/command_line.h"
#include "app/console.h"
#include "app/environment.h"
#include "app/model_choice.h"
#include "app/model_fleet.h"
#include "app/resolve_settings.h"
#include "app/spending.h"
#include "app/upstream_choice.h"
#include "base/clock.h"
#include "base/result.h"
#include "batch/job_options.h"
#include "store/disk.h"

namespace windrow::app {

struct Chosen {
  std::vector<ModelChoice> models;
  std::vector<UpstreamChoice> upstreams;  // then there are no models
  Spending spending;
};

// Errors as whatever is wrong with what was chosen.
Result<Chosen> choose(const ResolvedSettings& resolved, const Environment& environment,
                      store::Disk& disk);

// What the job is told. kNotFound when a model's file cannot be read.
Result<batch::JobOptions> options_of(const RunCommand& command, const Settings& settings,
                                     const Chosen& chosen);

// Of a job or of a server. `chosen`, `disk`, `clock` and `console` outlive them; models of a server
// may become files until they are opened (fetch_models.h).
std::unique_ptr<ModelFleet> make_fleet(const Chosen& chosen, const Settings& settings,
                                       SettingsOf command, const Environment& environment,
                                       store::Disk& disk, const Clock& clock, Console& console);

}  // namespace windrow::app
