#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/command_context.h"
#include "app/commands/commands.h"
#include "app/commands/run_job.h"
#include "app/commands/select_fleet.h"
#include "app/commands/table_job.h"
#include "app/commands/unkept_job.h"
#include "app/process/signals.h"
#include "app/settings/run_options.h"
#include "batch/input.h"
#include "batch/job_runner.h"

namespace windrow::app {
namespace {

constexpr int kExitRowsFailed = 1;
constexpr int kExitUnusable = 2;

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

// A table that is there although no job has its name is a file of the user.
Result<void> check_table_is_of_job(const RunOutput& output, const Settings& settings,
                                   const store::Disk& disk) {
  if (output.table.empty() || settings.fresh || settings.dry_run) return {};
  const Result<batch::JobPaths> paths = batch::job_paths(output.log);
  if (!paths || !disk.exists(output.table) || disk.exists(paths->record)) return {};
  return Error{
      ErrorKind::kConflict,
      fmt::format("{0} is there already, and not as the table of a job: there is no {1}; "
                  "nothing was changed. Give another output with -o, move {0} away, or use "
                  "--fresh, which replaces it",
                  output.table, paths->record)};
}

Result<void> check_outputs(const RunCommand& command, const RunOutput& output,
                           const Settings& settings, const store::Disk& disk) {
  if (Result<void> table = check_written_path("-o", output.table); !table) return table;
  const std::array<NamedFile, 2> more = {
      {{"the table", output.table}, {"--prompt-file", command.table.prompt_file}}};
  const Result<void> files = check_job_files(command.input, output.log, settings, more);
  return files ? check_table_is_of_job(output, settings, disk) : files;
}

// Writes the table of a job that has results, complete or not. Returns the exit code of the
// program.
int end_with_table(int exit_code, const RunOutput& output, CommandContext& context,
                   StopRelay& relay) {
  Console& console = context.console();
  const Result<batch::JobPaths> paths = batch::job_paths(output.log);
  // A run that was refused leaves everything as it is.
  if (exit_code == kExitUnusable || !paths) return exit_code;
  if (!context.disk().exists(paths->results) && !context.disk().exists(paths->errors))
    return exit_code;
  const Result<bool> written =
      write_job_table({.paths = *paths, .output = output.table, .format = output.format},
                      context.disk(), console, relay);
  if (written && *written) return exit_code;
  console.error(fmt::format(
      "{} was not written: {}; the results are in {}, and windrow export {} -o {} writes it",
      output.table, written ? "interrupted" : written.error().message, paths->results,
      paths->results, output.table));
  if (written) return kExitInterrupted;
  return exit_code == 0 || exit_code == kExitRowsFailed ? kExitUnusable : exit_code;
}

// What is made of the results reads the input once more.
Result<void> check_read_again(const RunCommand& command, const RunOutput& output,
                              const batch::Input& input) {
  if (input.rereadable()) return {};
  const std::string what = !output.table.empty() ? fmt::format("-o {}", output.table)
                           : command.preview > 0 ? "--preview"
                           : !command.format.empty() && command.format != "jsonl"
                               ? fmt::format("--format {}", command.format)
                               : "";
  if (what.empty()) return {};
  return Error{ErrorKind::kInvalid,
               fmt::format("{} reads the input once more at the end, and {} can be read only once; "
                           "write it to a file first, or take the results as JSONL",
                           what, input.name())};
}

// Prints the results of a job that keeps none. Returns the exit code of the program.
int print_unkept(int exit_code, const RunCommand& command, const std::string& results,
                 batch::Input& input, CommandContext& context) {
  store::Disk& disk = context.disk();
  const Result<batch::JobPaths> paths = batch::job_paths(results);
  if (!paths || (!disk.exists(paths->results) && !disk.exists(paths->errors))) return exit_code;
  const Result<void> printed =
      command.preview > 0
          ? print_preview(input, command.preview, results, disk, context.console())
          : print_results(input, results, table::table_format_of("x." + command.format), disk,
                          context.console());
  const Result<void> arrived = context.console().printed();
  if (printed && arrived) return exit_code;
  context.console().error(
      printed ? fmt::format("{}; the results were not kept and are gone: make room and run "
                            "it again, or name a file with -o",
                            arrived.error().message)
              : printed.error().message);
  return kExitUnusable;
}

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
  // Where the results go. A dry run writes nothing and may do without a name.
  const bool unkept = command.preview > 0 || command.output == "-";
  std::optional<ScratchFolder> scratch;
  RunOutput output = run_output(command.output, context.disk());
  if (unkept) {
    Result<ScratchFolder> made = ScratchFolder::make();
    if (!made) return context.fail(made.error());
    scratch.emplace(*std::move(made));
    output = {.log = scratch->results(), .table = {}};
  } else if (!command.output.empty()) {
    const Result<void> checked = check_outputs(command, output, settings, context.disk());
    if (!checked) return context.fail(checked.error());
  }
  const Result<void> report_checked = check_written_path("--report", settings.report);
  if (!report_checked) return context.fail(report_checked.error());
  const Result<batch::FailureLimit> failure_limit = failure_limit_of(settings);
  if (!failure_limit) return context.fail(failure_limit.error());
  const Result<void> fetched = fetch_models_of(*chosen, context, relay);
  if (!fetched) return context.fail(fetched.error());
  RunCommand logged = command;
  logged.output = output.log;
  Result<batch::JobOptions> options = options_of(logged, settings, *chosen);
  if (!options) return context.fail(options.error());
  options->now_unix_s = context.clock().unix_seconds();
  options->failure_limit = *failure_limit;
  // A sample is drawn from all of the input. A temporary folder is removed by leaving the function.
  std::optional<StopRelay::Attachment> left_at_once;
  if (!unkept) left_at_once.emplace(relay, leave_at_once(context.console()));
  const Result<RunInput> opened = open_run_input(command, context.disk());
  left_at_once.reset();
  if (!opened) return context.fail(opened.error());
  batch::Input& input = *opened->input;
  options->settings.insert(options->settings.end(), opened->settings.begin(),
                           opened->settings.end());

  if (settings.dry_run) {
    const StopRelay::Attachment leaves(relay, leave_at_once(context.console()));
    return dry_run_command(input, *options, *chosen, settings, context.clock(), context.console());
  }
  if (const Result<void> read = check_read_again(command, output, input); !read)
    return context.fail(read.error());
  if (command.preview > 0)
    options->rows_max = std::min(options->rows_max.value_or(command.preview), command.preview);
  if (!output.table.empty()) {
    context.console().note(fmt::format("results are kept in {}; {} is written from them at the end",
                                       output.log, output.table));
  }
  const int exit_code =
      run_job({.input = command.input,
               .output = output.log,
               .options = *std::move(options),
               .choice = *chosen,
               .answerer = [](fleet::JobFleet& fleet,
                              fleet::JobHooks hooks) -> Result<std::unique_ptr<RowsAnswerer>> {
                 return std::make_unique<RequestRows>(fleet, std::move(hooks));
               },
               .unkept = unkept},
              input, context, relay);
  if (command.only_retried && !command.table.given.empty() && exit_code != kExitUnusable) {
    context.console().note(fmt::format(
        "windrow export {} -o TABLE.csv writes a table with the new answers", output.log));
  }
  if (unkept) return print_unkept(exit_code, command, output.log, input, context);
  return output.table.empty() ? exit_code : end_with_table(exit_code, output, context, relay);
}

}  // namespace windrow::app
