#include "app/select_fleet.h"

#include <utility>

#include "app/embedded_fleet.h"
#include "app/model_file.h"
#include "app/model_options.h"
#include "app/open_backend.h"
#include "app/pooled_fleet.h"
#include "app/run_options.h"
#include "app/template_file.h"
#include "app/upstream_fleet.h"
#include "engine/sim/sim_options.h"
#include "model_store/model_source.h"

namespace windrow::app {

Result<Chosen> choose(const ResolvedSettings& resolved, const Environment& environment,
                      store::Disk& disk) {
  const Settings& settings = resolved.values;
  Chosen chosen;
  if (!settings.upstreams.empty()) {
    Result<std::vector<UpstreamChoice>> upstreams = upstream_choices(resolved, environment);
    if (!upstreams) return upstreams.error();
    chosen.upstreams = *std::move(upstreams);
    Result<Spending> spending = read_spending(settings, disk);
    if (!spending) return spending.error();
    chosen.spending = *std::move(spending);
    return chosen;
  }
  Result<std::vector<ModelChoice>> models = parse_model_choices(settings.models);
  if (!models) return models.error();
  if (Result<void> added = add_model_options(*models, settings); !added) return added.error();
  if (Result<void> read = read_piped_templates(*models); !read) return read.error();
  for (const ModelChoice& choice : *models) {
    if (model_store::is_remote(choice.path)) continue;
    if (is_simulated(choice)) {
      if (auto simulated = engine::sim::parse_sim(choice.path); !simulated)
        return simulated.error().in("--model");
      continue;
    }
    if (Result<void> checked = check_model_file(choice.path); !checked) return checked.error();
  }
  if (Result<void> checked = check_body_defaults(resolved); !checked) return checked.error();
  chosen.models = *std::move(models);
  return chosen;
}

Result<batch::JobOptions> options_of(const RunCommand& command, const Settings& settings,
                                     const Chosen& chosen) {
  if (!chosen.upstreams.empty())
    return upstream_job_options(command, settings,
                                upstream_job_settings(settings, chosen.upstreams));
  Result<std::vector<batch::JobSetting>> fixed = job_settings(settings, chosen.models);
  if (!fixed) return fixed.error();
  return job_options(command, settings, chosen.models, *std::move(fixed));
}

std::unique_ptr<ModelFleet> make_fleet(const Chosen& chosen, const Settings& settings,
                                       SettingsOf command, const Environment& environment,
                                       store::Disk& disk, const Clock& clock, Console& console) {
  if (chosen.upstreams.empty() && command == SettingsOf::kServe)
    return std::make_unique<PooledFleet>(chosen.models, settings, clock, console);
  if (chosen.upstreams.empty())
    return std::make_unique<EmbeddedFleet>(chosen.models, settings, clock, console);
  return std::make_unique<UpstreamFleet>(chosen.upstreams, chosen.spending, settings, environment,
                                         disk, clock, console);
}

}  // namespace windrow::app
