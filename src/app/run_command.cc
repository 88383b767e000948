#include "app/run_command.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/load_settings.h"
#include "app/model_choice.h"
#include "app/open_backend.h"
#include "app/signals.h"
#include "app/stop_relay.h"
#include "base/clock.h"
#include "batch/input.h"
#include "batch/job_runner.h"
#include "batch/progress.h"
#include "dispatch/dispatcher.h"
#include "store/posix_disk.h"

namespace windrow::app {
namespace {

constexpr int kExitUnusable = 2;
constexpr int kExitModel = 3;

int say(const Error& error, int exit_code) {
  fmt::print(stderr, "windrow: {}\n", error.message);
  return exit_code;
}

// The model's own failures are 3; a file that is no model, or an option it cannot take, is 2.
int exit_code_of_model(const Error& error) {
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kNoSpace ? kExitModel
                                                                                    : kExitUnusable;
}

// What a job that is continued must find unchanged.
Result<std::vector<batch::JobSetting>> job_settings(const Settings& settings,
                                                    const std::vector<ModelChoice>& choices) {
  std::vector<batch::JobSetting> list;
  for (const ModelChoice& choice : choices) {
    const Result<std::string> identity = model_identity(choice.path);
    if (!identity) return identity.error();
    list.push_back({choice.name.empty() ? "model" : "model " + choice.name, *identity});
  }
  for (const SettingRow& row : setting_rows()) {
    // The context comes later, when the model has said what it gives; body defaults the job adds.
    const bool is_elsewhere = row.name == "model" || row.name == "ctx" || is_body_defaults(row);
    if (!row.alters_answers || is_elsewhere) continue;
    const boost::json::value value = value_of(settings, row);
    list.push_back({std::string(row.name), value.is_string() ? std::string(value.get_string())
                                                             : boost::json::serialize(value)});
  }
  return list;
}

batch::JobOptions job_options(const RunCommand& command, const Settings& settings,
                              const std::vector<ModelChoice>& choices,
                              std::vector<batch::JobSetting> job_settings) {
  batch::JobOptions options{.input_name = command.input,
                            .output_path = command.output,
                            .fresh = settings.fresh,
                            .retry_failed = settings.retry_failed,
                            .strict = settings.strict,
                            .ordered = settings.ordered,
                            .any_model = choices.front().name.empty(),
                            .settings = std::move(job_settings),
                            .grace = std::chrono::seconds(settings.grace_s)};
  if (settings.limit > 0) options.rows_max = settings.limit;
  for (const auto& [field, value] : settings.body_defaults)
    options.body_defaults[field] = value;
  for (const ModelChoice& choice : choices) {
    options.models.push_back(choice.name.empty() ? choice.path : choice.name);
  }
  return options;
}

}  // namespace

int run_command(const RunCommand& command, const Environment& environment) {
  // Before any other thread, so that all of them leave signals to the watch.
  StopRelay relay;
  const SignalWatch signals([&](std::string_view) { relay.stop(); }, [&] { relay.stop_now(); });

  const SystemClock clock;
  store::PosixDisk disk;
  const Result<ResolvedSettings> resolved = load_settings(command.flags, environment, disk);
  if (!resolved) return say(resolved.error(), kExitUnusable);
  const Settings& settings = resolved->values;
  const Result<std::vector<ModelChoice>> choices = parse_model_choices(settings.models);
  if (!choices) return say(choices.error(), kExitUnusable);
  Result<std::vector<batch::JobSetting>> fixed = job_settings(settings, *choices);
  if (!fixed) return say(fixed.error(), kExitUnusable);

  // The job: its files, its lock, what an earlier run left.
  const Result<std::unique_ptr<batch::Input>> input = batch::open_input(command.input);
  if (!input) return say(input.error(), kExitUnusable);
  batch::JobCounters counters;
  const Result<std::unique_ptr<batch::JobRunner>> job =
      batch::JobRunner::open(job_options(command, settings, *choices, *std::move(fixed)),
                             {disk, clock, **input}, counters);
  if (!job) return say(job.error(), kExitUnusable);
  relay.attach({[&] { (*job)->stop(); }, [&] { (*job)->stop_now(); }});

  // The models, while the job counts its rows.
  const Result<std::unique_ptr<engine::LlamaLibrary>> library =
      engine::LlamaLibrary::start(backends_folder());
  if (!library) return say(library.error(), kExitModel);
  std::vector<OpenModel> models;
  std::vector<std::unique_ptr<dispatch::Dispatcher>> dispatchers;
  std::vector<batch::ModelRoute> routes;
  batch::RunHooks hooks;
  for (const ModelChoice& choice : *choices) {
    Result<OpenModel> model = open_model(**library, choice, settings, clock);
    if (!model) {
      relay.detach();
      return say(model.error(), exit_code_of_model(model.error()));
    }
    dispatchers.push_back(
        std::make_unique<dispatch::Dispatcher>(*model->backend, dispatch::DispatchOptions{}));
    routes.push_back({choice.name.empty() ? choice.path : choice.name, dispatchers.back().get()});
    hooks.late_settings.push_back(
        {choice.name.empty() ? "context of a row" : "context of a row, model " + choice.name,
         fmt::format("{} tokens", model->backend->limits().row_tokens_max)});
    models.push_back(*std::move(model));
  }

  const Result<batch::JobReport> report = (*job)->run(routes, std::move(hooks));
  relay.detach();
  if (!report) return say(report.error(), batch::exit_code(report));
  fmt::print(stderr, "windrow: {} rows succeeded, {} failed\n", report->rows_succeeded,
             report->rows_failed);
  return batch::exit_code(report);
}

}  // namespace windrow::app
