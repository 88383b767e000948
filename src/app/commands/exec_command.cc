#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "app/commands/command_context.h"
#include "app/commands/commands.h"
#include "app/commands/exec_programs.h"
#include "app/commands/run_job.h"
#include "app/commands/select_fleet.h"
#include "app/process/console.h"
#include "app/process/open_files.h"
#include "app/process/signals.h"
#include "app/settings/program_settings.h"
#include "app/settings/run_options.h"
#include "base/ensure.h"
#include "base/format.h"
#include "base/hash.h"
#include "batch/input.h"
#include "fleet/job_fleet.h"
#include "json/members.h"
#include "json/parse.h"
#include "program/run/program_loop.h"

namespace windrow::app {
namespace {

constexpr int kExitProgramFailed = 1;
constexpr int kExitModelGone = 3;

using SharedProgram = std::shared_ptr<const program::Program>;

// --- one instance for each row ------------------------------------------------------------------

Result<batch::JobOptions> exec_job_options(const ExecCommand& command, const Settings& settings,
                                           const FleetChoice& choice,
                                           const program::Program& program) {
  Result<std::vector<batch::JobSetting>> fixed = settings_of_job(settings, choice);
  if (!fixed) return fixed.error();
  for (batch::JobSetting& setting :
       program_job_settings(settings, program, !choice.upstreams.empty()))
    fixed->push_back(std::move(setting));
  batch::JobOptions options =
      options_of_files(command.input, command.output, settings, *std::move(fixed));
  options.form = batch::RowForm::kInputs;
  options.models = {program.name};
  options.any_model = true;
  return options;
}

int run_rows(const ExecCommand& command, const SharedProgram& program, FleetChoice& choice,
             CommandContext& context, StopRelay& relay) {
  const Settings& settings = context.settings();
  const std::array<NamedFile, 2> more = {NamedFile{.what = "the program", .path = command.program},
                                         NamedFile{.what = "--trace", .path = command.trace}};
  const Result<void> checked = check_job_files(command.input, command.output, settings, more);
  if (!checked) return context.fail(checked.error());
  const Result<void> report_checked = check_written_path("--report", settings.report);
  if (!report_checked) return context.fail(report_checked.error());
  const Result<batch::FailureLimit> failure_limit = failure_limit_of(settings);
  if (!failure_limit) return context.fail(failure_limit.error());
  const Result<void> fetched = fetch_models_of(choice, context, relay);
  if (!fetched) return context.fail(fetched.error());
  Result<batch::JobOptions> options = exec_job_options(command, settings, choice, *program);
  if (!options) return context.fail(options.error());
  options->now_unix_s = context.clock().unix_seconds();
  options->failure_limit = *failure_limit;
  const Result<std::unique_ptr<batch::Input>> input = batch::open_input(command.input);
  if (!input) return context.fail(input.error());

  ExecTrace trace(command.trace, context.clock());
  const auto answerer = [&](fleet::JobFleet& fleet,
                            fleet::JobHooks hooks) -> Result<std::unique_ptr<RowsAnswerer>> {
    if (Result<void> named = check_server_model(fleet, settings); !named) return named.error();
    return std::make_unique<ExecPrograms>(program, fleet, std::move(hooks), trace, settings,
                                          context.clock(), context.console());
  };
  const int exit_code =
      run_job({.input = command.input,
               .output = command.output,
               .options = *std::move(options),
               .choice = choice,
               .answerer = answerer,
               .on_rows = trace.observer(),
               .retry = fmt::format("windrow exec {} --input {} -o {} "
                                    "--retry-failed, with the same other flags",
                                    command.program, command.input, command.output)},
              **input, context, relay);
  trace.write(context.disk(), context.console());
  return exit_code;
}

// --- one instance -------------------------------------------------------------------------------

// Prints what an instance ended with. Returns the exit code.
int print_end(const dispatch::DispatchResult& end, const Settings& settings, Console& console) {
  if (const auto* answer = std::get_if<llm::Answer>(&end.outcome)) {
    const std::string_view result = json_member(json_members(answer->raw), "result");
    console.print(fmt::format("{}\n", settings.json ? std::string_view(answer->raw) : result));
    console.note(fmt::format("{} prompt tokens, {} of them cached, and {} generated",
                             with_thousands(answer->usage.prompt_tokens),
                             with_thousands(answer->usage.cached_tokens),
                             with_thousands(answer->usage.completion_tokens)));
    return 0;
  }
  const auto& failure = std::get<llm::Failure>(end.outcome);
  if (failure.failure_class == llm::FailureClass::kCancelled) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  console.error(fmt::format("{}: {}", failure.code, failure.message));
  return failure.failure_class == llm::FailureClass::kBackend ? kExitModelGone : kExitProgramFailed;
}

int run_once(const ExecCommand& command, const SharedProgram& program, FleetChoice& choice,
             CommandContext& context, StopRelay& relay) {
  const Settings& settings = context.settings();
  Console& console = context.console();
  const std::string argument = command.argument.empty() ? "null" : command.argument;
  if (const auto parsed = parse_json(argument); std::holds_alternative<JsonFault>(parsed)) {
    return context.fail(
        {ErrorKind::kInvalid,
         fmt::format("--arg is not JSON: {} near byte {}; a text is written with its quotes: "
                     "--arg '\"text\"'",
                     std::get<JsonFault>(parsed).reason, std::get<JsonFault>(parsed).byte)});
  }
  const Result<void> fetched = fetch_models_of(choice, context, relay);
  if (!fetched) return context.fail(fetched.error());

  const auto leave = [] { std::_Exit(kExitInterrupted); };
  std::optional<StopRelay::Attachment> until_it_runs(std::in_place, relay,
                                                     StopRelay::Target{leave, leave});
  ExecTrace trace(command.trace, context.clock());
  FleetSetting setting = context.fleet_setting(requests_for(context.files_max()));
  setting.on_rows = trace.observer();
  const std::unique_ptr<fleet::JobFleet> fleet = make_job_fleet(choice, setting);
  StopRelay by_fleet;
  std::atomic<bool> budget_spent = false;
  const Result<void> opened = fleet->open({.began_unix_s = context.clock().unix_seconds(),
                                           .refusal = {},
                                           .on_budget_spent =
                                               [&] {
                                                 budget_spent = true;
                                                 by_fleet.stop();
                                               },
                                           .on_all_failed = [&] { by_fleet.stop(); }});
  if (!opened) return context.fail(opened.error());
  if (const Result<void> named = check_server_model(*fleet, settings); !named)
    return context.fail(named.error());

  std::promise<dispatch::DispatchResult> promise;
  dispatch::DispatchResult end;
  {
    ExecPrograms programs(program, *fleet, fleet->hooks(), trace, settings, context.clock(),
                          console);
    program::ProgramRows& rows = programs.rows();
    const auto cancel = [&] { rows.cancel_all(); };
    llm::Request request;
    request.raw = argument;
    request.sampling.seed = hash64(argument);
    const bool submitted =
        rows.submit(std::move(request), {}, 0,
                    [&](dispatch::DispatchResult result) { promise.set_value(std::move(result)); });
    ENSURE(submitted, "nothing has stopped admission");
    until_it_runs.reset();
    const StopRelay::Attachment by_signal(relay, StopRelay::Target{cancel, leave});
    const StopRelay::Attachment when_useless(by_fleet, StopRelay::Target{cancel, cancel});
    end = promise.get_future().get();
  }
  trace.write(context.disk(), console);
  for (const std::string& words : fleet->final_notes())
    console.note(words);
  if (const std::optional<Error> error = fleet->final_error()) return context.fail(*error);
  if (budget_spent && std::holds_alternative<llm::Failure>(end.outcome)) {
    console.error(
        fmt::format("--max-cost {} would be exceeded by the next call", settings.cost_max));
    return kExitBudgetSpent;
  }
  return print_end(end, settings, console);
}

}  // namespace

int exec_command(const ExecCommand& command, const Environment& environment) {
  // Before any other thread, so that all of them leave signals to the watch.
  StopRelay relay;
  const SignalWatch signals([&](std::string_view) { relay.stop(); }, [&] { relay.stop_now(); });
  CommandContext context(environment);
  if (const Result<void> started = context.start(command.flags, SettingsOf::kExec); !started)
    return context.fail(started.error());
  const Settings& settings = context.settings();

  // Everything that can be checked without opening anything.
  Result<program::Program> loaded = load_program(context.disk(), command.program);
  if (!loaded) return context.fail(loaded.error());
  const auto program = std::make_shared<const program::Program>(*std::move(loaded));
  if (const Result<void> valid = program::ProgramLoop::check(*program, program_limits(settings));
      !valid)
    return context.fail(valid.error());
  if (const Result<void> checked = check_trace_path(command.trace); !checked)
    return context.fail(checked.error());
  Result<FleetChoice> chosen = context.choose();
  if (!chosen) return context.fail(chosen.error());
  if (const Result<void> named = check_program_models(settings, chosen->models); !named)
    return context.fail(named.error());
  return command.input.empty() ? run_once(command, program, *chosen, context, relay)
                               : run_rows(command, program, *chosen, context, relay);
}

}  // namespace windrow::app
