// Which fleet answers, models in this process or upstream servers: chosen by the settings, and
// checked as far as that is possible without opening anything.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "app/commands/command_line.h"
#include "app/settings/environment.h"
#include "app/settings/resolve_settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "batch/job_options.h"
#include "fleet/fleet_options.h"
#include "fleet/job_fleet.h"
#include "fleet/server_fleet.h"
#include "llm/step_report.h"
#include "store/disk.h"

namespace windrow::app {

struct FleetChoice {
  std::vector<fleet::ModelChoice> models;
  std::vector<fleet::UpstreamChoice> upstreams;  // then there are no models
  std::vector<fleet::ModelChoice> tokenizers;    // of a server's upstreams
  fleet::Spending spending;
};

// Errors: those of each part of the choice, above all kInvalid and kNotFound.
Result<FleetChoice> choose_fleet(const ResolvedSettings& resolved, const Environment& environment,
                                 store::Disk& disk);

// One object for each: {"name", "path"} or {"url"}.
boost::json::array describe(const FleetChoice& choice);

// The settings of any job that `choice` answers which a resumed job must find unchanged. kNotFound
// when a model's file cannot be read.
Result<std::vector<batch::JobSetting>> settings_of_job(const Settings& settings,
                                                       const FleetChoice& choice);

// The options of the job of requests that `choice` answers. kNotFound when a model's file cannot be
// read.
Result<batch::JobOptions> options_of(const RunCommand& command, const Settings& settings,
                                     const FleetChoice& choice);

// What a fleet uses of the process. All of it outlives the fleet.
struct FleetSetting {
  const Settings& settings;
  const Environment& environment;
  uint64_t files_max;    // that the process may have open
  int32_t requests_max;  // to servers, because of that
  store::Disk& disk;
  const Clock& clock;
  fleet::FleetEvents& events;

  // Of a job: told which rows of models in this process took part in each pass. May be empty.
  llm::RowObserver on_rows = {};
};

std::unique_ptr<fleet::JobFleet> make_job_fleet(const FleetChoice& choice,
                                                const FleetSetting& setting);

// `fetch` makes remote models files; open() calls it first.
std::unique_ptr<fleet::ServerFleet> make_server_fleet(
    const FleetChoice& choice, std::function<Result<void>(std::vector<fleet::ModelChoice>&)> fetch,
    const FleetSetting& setting);

}  // namespace windrow::app
