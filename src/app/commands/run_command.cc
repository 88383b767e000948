#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/command_context.h"
#include "app/commands/commands.h"
#include "app/commands/run_job.h"
#include "app/commands/select_fleet.h"
#include "app/process/signals.h"
#include "app/settings/run_options.h"
#include "batch/input.h"
#include "batch/job_runner.h"

namespace windrow::app {
namespace {

// Rows are requests, and go to the models of the fleet as they are.
class RequestRows final : public RowsAnswerer {
 public:
  RequestRows(const fleet::JobFleet& fleet, fleet::JobHooks hooks)
      : fleet_(fleet), hooks_(std::move(hooks)) {}

  std::vector<batch::ModelRoute> routes() override {
    std::vector<batch::ModelRoute> routes;
    for (const fleet::JobRoute& route : fleet_.routes())
      routes.push_back({route.model, route.dispatcher});
    return routes;
  }

  batch::RunHooks hooks() override {
    batch::RunHooks hooks;
    hooks.check = std::move(hooks_.check);
    hooks.before_row = std::move(hooks_.before_row);
    hooks.upstreams_of = std::move(hooks_.upstreams_of);
    hooks.expected_cost = std::move(hooks_.expected_cost);
    return hooks;
  }

 private:
  const fleet::JobFleet& fleet_;
  fleet::JobHooks hooks_;
};

}  // namespace

int run_command(const RunCommand& command, const Environment& environment) {
  // Before any other thread, so that all of them leave signals to the watch.
  StopRelay relay;
  const SignalWatch signals([&](std::string_view) { relay.stop(); }, [&] { relay.stop_now(); });

  // The settings, and a console to report to.
  CommandContext context(environment);
  if (const Result<void> started = context.start(command.flags, SettingsOf::kRun); !started)
    return context.fail(started.error());
  const Settings& settings = context.settings();

  // Everything that can be checked without opening anything.
  Result<FleetChoice> chosen = context.choose();
  if (!chosen) return context.fail(chosen.error());
  // A dry run writes nothing and may do without a name.
  if (!command.output.empty()) {
    const Result<void> checked = check_job_files(command.input, command.output, settings);
    if (!checked) return context.fail(checked.error());
  }
  const Result<void> report_checked = check_written_path("--report", settings.report);
  if (!report_checked) return context.fail(report_checked.error());
  const Result<void> fetched = fetch_models_of(*chosen, context, relay);
  if (!fetched) return context.fail(fetched.error());
  Result<batch::JobOptions> options = options_of(command, settings, *chosen);
  if (!options) return context.fail(options.error());
  options->now_unix_s = context.clock().unix_seconds();
  const Result<std::unique_ptr<batch::Input>> input = batch::open_input(command.input);
  if (!input) return context.fail(input.error());

  if (settings.dry_run) {
    const StopRelay::Attachment leaves(relay, leave_at_once(context.console()));
    return dry_run_command(**input, *options, *chosen, settings, context.clock(),
                           context.console());
  }
  return run_job({.input = command.input,
                  .output = command.output,
                  .options = *std::move(options),
                  .choice = *chosen,
                  .answerer = [](fleet::JobFleet& fleet,
                                 fleet::JobHooks hooks) -> Result<std::unique_ptr<RowsAnswerer>> {
                    return std::make_unique<RequestRows>(fleet, std::move(hooks));
                  }},
                 **input, context, relay);
}

}  // namespace windrow::app
