#include "app/commands/select_fleet.h"

#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <utility>

#include "app/settings/fleet_settings.h"
#include "app/settings/model_settings.h"
#include "app/settings/price_settings.h"
#include "app/settings/run_options.h"
#include "app/settings/serve_options.h"
#include "app/settings/upstream_settings.h"
#include "engine/sim/sim_options.h"
#include "fleet/chat_template_choice.h"
#include "fleet/local_job_fleet.h"
#include "fleet/local_server_fleet.h"
#include "fleet/upstream_fleet.h"
#include "model_store/model_source.h"

namespace windrow::app {

Result<FleetChoice> choose_fleet(const ResolvedSettings& resolved, const Environment& environment,
                                 store::Disk& disk) {
  const Settings& settings = resolved.values;
  FleetChoice chosen;
  if (!settings.upstreams.empty()) {
    Result<std::vector<fleet::UpstreamChoice>> upstreams = upstream_choices(resolved, environment);
    if (!upstreams) return upstreams.error();
    chosen.upstreams = *std::move(upstreams);
    Result<fleet::Spending> spending = read_spending(settings, disk);
    if (!spending) return spending.error();
    chosen.spending = *std::move(spending);
    return chosen;
  }
  Result<std::vector<fleet::ModelChoice>> models = parse_model_choices(settings.models);
  if (!models) return models.error();
  if (Result<void> added = add_model_options(*models, settings); !added) return added.error();
  if (Result<void> read = fleet::read_piped_templates(*models); !read) return read.error();
  for (const fleet::ModelChoice& choice : *models) {
    if (model_store::is_remote(choice.path)) continue;
    if (fleet::is_simulated(choice)) {
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

Result<std::vector<batch::JobSetting>> settings_of_job(const Settings& settings,
                                                       const FleetChoice& choice) {
  if (!choice.upstreams.empty()) return upstream_job_settings(settings, choice.upstreams);
  return job_settings(settings, choice.models);
}

Result<batch::JobOptions> options_of(const RunCommand& command, const Settings& settings,
                                     const FleetChoice& choice) {
  Result<std::vector<batch::JobSetting>> fixed = settings_of_job(settings, choice);
  if (!fixed) return fixed.error();
  if (!choice.upstreams.empty()) return upstream_job_options(command, settings, *std::move(fixed));
  return job_options(command, settings, choice.models, *std::move(fixed));
}

boost::json::array describe(const FleetChoice& choice) {
  boost::json::array list;
  for (const fleet::ModelChoice& model : choice.models)
    list.push_back(boost::json::object{{"name", fleet::served_name(model)}, {"path", model.path}});
  for (const fleet::UpstreamChoice& upstream : choice.upstreams)
    list.push_back(boost::json::object{{"url", http::to_string(upstream.server.base)}});
  return list;
}

namespace {

fleet::UpstreamFleetOptions upstream_options(const FleetChoice& choice,
                                             const FleetSetting& setting) {
  return upstream_fleet_options(setting.settings, choice.upstreams, choice.spending,
                                setting.environment, setting.files_max, setting.requests_max);
}

// The models of a server, with what else the settings say of them by their names.
Result<fleet::LocalModels> local_models(std::vector<fleet::ModelChoice> choices,
                                        const Settings& settings) {
  std::vector<std::string> names;
  names.reserve(choices.size());
  for (const fleet::ModelChoice& choice : choices)
    names.push_back(fleet::served_name(choice));
  Result<fleet::PoolOptions> pool = pool_options(settings, names);
  if (!pool) return pool.error();
  Result<std::map<std::string, std::string>> aliases = local_aliases(settings, names);
  if (!aliases) return aliases.error();
  return fleet::LocalModels{
      .choices = std::move(choices), .pool = *std::move(pool), .aliases = *std::move(aliases)};
}

}  // namespace

std::unique_ptr<fleet::JobFleet> make_job_fleet(const FleetChoice& choice,
                                                const FleetSetting& setting) {
  if (!choice.upstreams.empty()) {
    return std::make_unique<fleet::UpstreamJobFleet>(upstream_options(choice, setting),
                                                     setting.disk, setting.clock, setting.events);
  }
  fleet::LocalFleetOptions options = local_fleet_options(SettingsOf::kRun, setting.settings);
  options.on_rows = setting.on_rows;
  return std::make_unique<fleet::LocalJobFleet>(choice.models, std::move(options), setting.clock,
                                                setting.events);
}

std::unique_ptr<fleet::ServerFleet> make_server_fleet(
    const FleetChoice& choice, std::function<Result<void>(std::vector<fleet::ModelChoice>&)> fetch,
    const FleetSetting& setting) {
  if (!choice.upstreams.empty()) {
    fleet::UpstreamFleetOptions options = upstream_options(choice, setting);
    options.tokenizers = choice.tokenizers;
    options.backends_folder = backends_folder();
    return std::make_unique<fleet::UpstreamServerFleet>(std::move(options), setting.disk,
                                                        setting.clock, setting.events);
  }
  const auto source = [models = choice.models, fetch = std::move(fetch),
                       &settings = setting.settings]() -> Result<fleet::LocalModels> {
    std::vector<fleet::ModelChoice> choices = models;
    if (Result<void> fetched = fetch(choices); !fetched) return fetched.error();
    return local_models(std::move(choices), settings);
  };
  return std::make_unique<fleet::LocalServerFleet>(
      source, local_fleet_options(SettingsOf::kServe, setting.settings), setting.clock,
      setting.events);
}

}  // namespace windrow::app
