#include "app/commands/run_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "app/commands/fetch_models.h"
#include "app/commands/job_reports.h"
#include "app/commands/run_summary.h"
#include "app/process/console.h"
#include "app/process/open_files.h"
#include "app/process/progress_recorder.h"
#include "app/process/progress_reporter.h"
#include "app/settings/price_settings.h"
#include "base/clock.h"
#include "report/summary.h"

namespace windrow::app {
namespace {

constexpr int kExitNothingAffordable = 2;

void report_start(const JobToRun& job, Console& console) {
  console.event("start",
                {{"input", job.input},
                 {"output", job.output},
                 {job.choice.upstreams.empty() ? "models" : "upstreams", describe(job.choice)}});
}

// The hooks of the fleet, which also keep the cost of the dearest request.
fleet::JobHooks hooks_of(fleet::JobFleet& fleet, std::atomic<dispatch::Cost>& dearest) {
  fleet::JobHooks hooks = fleet.hooks();
  if (!hooks.expected_cost) return hooks;
  hooks.expected_cost =
      [&dearest, expected_cost = std::move(hooks.expected_cost)](const llm::Request& request) {
        auto cost = expected_cost(request);
        // One thread at a time asks for costs.
        if (const auto* known = std::get_if<dispatch::Cost>(&cost))
          dearest = std::max(dearest.load(), *known);
        return cost;
      };
  return hooks;
}

std::function<void(const batch::LineFault&)> fault_printer(const std::string& input,
                                                           Console& console) {
  return [&console, input](const batch::LineFault& fault) {
    const std::string id =
        fault.custom_id.empty() ? "" : fmt::format(", custom_id \"{}\"", fault.custom_id);
    // Messages about a line itself begin with its number.
    const std::string place = fmt::format("line {}", fault.line);
    const bool has_place = fault.failure.message.starts_with(place + " ");
    console.error(
        fmt::format("{}: {}{}", input, has_place ? "" : place + id + ": ", fault.failure.message));
  };
}

// Tells a signal how to stop the job while rows run.
StopRelay::Target stop_target(batch::JobRunner& job, const Settings& settings, Console& console) {
  return {.stop =
              [&job, &console, grace_s = settings.grace_s] {
                console.note(
                    fmt::format("stopping: running rows may finish within {} s; press Ctrl-C "
                                "again to end them at once",
                                grace_s));
                job.stop();
              },
          .stop_now =
              [&job, &console] {
                console.note("stopping at once");
                job.stop_now();
              }};
}

// Why a job stopped whose budget is spent. `what` is paid for: a row, a call.
void add_budget(report::Summary& summary, const std::string& cost_max, dispatch::Cost dearest,
                std::string_view what) {
  const bool spent = summary.dispatch.spent > 0;
  summary.error = spent
                      ? fmt::format("--max-cost {} would be exceeded by the next {}: {} are spent",
                                    cost_max, what, dollars(summary.dispatch.spent))
                      : fmt::format(
                            "--max-cost {} is too little: one {} may cost up to {}; "
                            "raise it, or lower max_tokens",
                            cost_max, what, dollars(dearest));
  summary.exit_code = spent ? kExitBudgetSpent : kExitNothingAffordable;
}

}  // namespace

Result<void> check_job_files(const std::string& input, const std::string& output,
                             const Settings& settings, std::span<const NamedFile> more) {
  if (Result<void> checked = check_output_path(output); !checked) return checked;
  return check_files_differ(input, output, settings, more);
}

Result<void> fetch_models_of(FleetChoice& choice, CommandContext& context, StopRelay& relay) {
  Console& console = context.console();
  const auto keep = [&] {
    console.error("interrupted; what was downloaded is kept, and the same command continues");
    std::_Exit(kExitInterrupted);
  };
  const StopRelay::Attachment interrupted(relay, StopRelay::Target{keep, keep});
  return fetch_models(choice.models, context.environment(), context.clock(), context.disk(),
                      console);
}

StopRelay::Target leave_at_once(Console& console) {
  const auto leave = [&console] {
    console.error("interrupted before any row ran; the same command starts again");
    std::_Exit(kExitInterrupted);
  };
  return {leave, leave};
}

int run_job(JobToRun job, batch::Input& input, CommandContext& context, StopRelay& relay) {
  const Settings& settings = context.settings();
  const Clock& clock = context.clock();
  store::Disk& disk = context.disk();
  Console& console = context.console();
  std::optional<StopRelay::Attachment> until_rows_run(std::in_place, relay, leave_at_once(console));

  // Its files, its lock, what an earlier run left. It counts its rows in the background.
  const TimePoint started_at = clock.now();
  const int64_t started_unix_s = clock.unix_seconds();
  const bool runs_programs = job.options.form == batch::RowForm::kInputs;
  const bool only_retried = job.options.only_retried;
  batch::JobCounters counters;
  const Result<std::unique_ptr<batch::JobRunner>> runner =
      batch::JobRunner::open(std::move(job.options), {disk, clock, input}, counters);
  if (!runner) return context.fail(runner.error());
  report_resume((*runner)->start(), (*runner)->paths(), console);

  std::atomic<bool> budget_spent = false;
  std::atomic<dispatch::Cost> dearest = 0;

  // The fleet; the reporter reads its counters from the start and ends first.
  FleetSetting setting = context.fleet_setting(requests_for(context.files_max()));
  setting.on_rows = job.on_rows;
  const std::unique_ptr<fleet::JobFleet> fleet = make_job_fleet(job.choice, setting);
  report_start(job, console);
  ProgressRecorder recorder(disk, clock, (*runner)->paths().progress);
  ProgressReporter reporter(
      console,
      [&] {
        report::ProgressReading reading =
            report::read_progress(counters, fleet->stats(), clock.now());
        reading.retries = fleet->retries();
        reading.upstreams = fleet->upstreams();
        return reading;
      },
      [&recorder](const report::ProgressNumbers& numbers) { recorder.observe(numbers); });
  const Result<void> opened = fleet->open({.began_unix_s = (*runner)->start().began_unix_s,
                                           .refusal = [&] { return (*runner)->refusal(); },
                                           .on_budget_spent =
                                               [&] {
                                                 budget_spent = true;
                                                 // Programs cannot end without more calls.
                                                 if (runs_programs) return (*runner)->stop_now();
                                                 (*runner)->stop();
                                               },
                                           .on_all_failed = [&] { (*runner)->stop_now(); }});
  if (!opened) return context.fail(opened.error());
  // What models in this process have to say is of the models that requests name.
  const std::string note = runs_programs && job.choice.upstreams.empty() ? "" : fleet->note();
  if (!note.empty()) console.note(note);

  // The rows.
  const TimePoint loaded_at = clock.now();
  const Result<std::unique_ptr<RowsAnswerer>> made =
      job.answerer(*fleet, hooks_of(*fleet, dearest));
  if (!made) return context.fail(made.error());
  RowsAnswerer& answerer = **made;
  until_rows_run.reset();
  const Result<batch::JobReport> result = [&] {
    const StopRelay::Attachment stops_job(relay, stop_target(**runner, settings, console));
    batch::RunHooks hooks = answerer.hooks();
    hooks.on_fault = fault_printer(job.input, console);
    Result<batch::JobReport> done = (*runner)->run(answerer.routes(), std::move(hooks));
    if (done) {
      if (std::optional<Error> verdict = fleet->final_error()) done = *std::move(verdict);
    }
    return done;
  }();
  const TimePoint ended_at = clock.now();
  reporter.stop();
  for (const std::string& words : fleet->final_notes())
    console.note(words);

  // The reports.
  if (!result) console.error(result.error().message);
  if (result) report_missing_rows(*result, job.input, (*runner)->paths(), console);
  if (result) report_ignored_fields(*result, console);
  if (!did_something(counters, result)) return batch::exit_code(result);
  report::Summary summary{.version = WINDROW_VERSION,
                          .runtime = fleet->runtime(),
                          .input = job.input,
                          .files = (*runner)->paths(),
                          .report = settings.report,
                          .retry = std::move(job.retry),
                          .started_unix_s = started_unix_s,
                          .ended_unix_s = clock.unix_seconds(),
                          .loading = loaded_at - started_at,
                          .running = ended_at - loaded_at,
                          .backend = fleet->stats(),
                          .upstreams = fleet->upstreams(),
                          .dispatch = fleet->counts(),
                          .settings = settings_with_sources(context.resolved())};
  add_result(counters, result, summary);
  if (budget_spent && summary.end == report::RunEnd::kInterrupted)
    add_budget(summary, settings.cost_max, dearest, runs_programs ? "call" : "row");
  if (result && result->failure_stop)
    summary.error = failures_text(*result->failure_stop, summary, only_retried);
  if (job.unkept) {
    if (summary.end == report::RunEnd::kInterrupted) console.error("interrupted");
    if (result && result->failure_stop) console.error(summary.error);
    return summary.exit_code;
  }
  write_reports(disk, clock, summary, reporter.history(), console);
  report_end(summary, settings, console);
  if (result && result->failure_stop) console.error(summary.error);
  return summary.exit_code;
}

}  // namespace windrow::app
