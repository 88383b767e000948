#include "app/commands/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/json/array.hpp>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/command_context.h"
#include "app/commands/fetch_models.h"
#include "app/commands/run_summary.h"
#include "app/commands/select_fleet.h"
#include "app/process/console.h"
#include "app/process/open_files.h"
#include "app/process/progress_reporter.h"
#include "app/process/signals.h"
#include "app/settings/price_settings.h"
#include "app/settings/run_options.h"
#include "base/clock.h"
#include "base/format.h"
#include "batch/input.h"
#include "batch/job_runner.h"
#include "json/writer.h"
#include "llm/field_values.h"
#include "report/summary.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr int kExitInterrupted = 130;
constexpr int kExitBudgetSpent = 4;
constexpr int kExitUnusable = 2;

// --- the start ---

void report_retried_rows(const batch::JobStart& start, Console& console) {
  if (start.retried == 0) return;
  console.note(fmt::format("{} failed {} again", with_thousands(start.retried),
                           start.retried == 1 ? "row runs" : "rows run"));
}

void report_resume(const batch::JobStart& start, const batch::JobPaths& paths, Console& console) {
  if (!start.moved.empty()) {
    std::string names;
    for (const std::string& name : start.moved) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
    console.note(fmt::format("the earlier files are kept as {}", names));
  }
  if (start.resumed) {
    console.note(fmt::format("resuming: {} results and {} failures so far",
                             with_thousands(start.results_before),
                             with_thousands(start.errors_before)));
  }
  if (start.results_counted > 0) {
    console.warn(
        fmt::format("{} has {} rows with a result, but the last run counted {}: the missing "
                    "ones run again, and cost again",
                    paths.results, with_thousands(start.results_before),
                    with_thousands(start.results_counted)));
  }
  report_retried_rows(start, console);
  if (start.quarantined > 0) {
    console.warn(fmt::format(
        "{} of the results and errors {} not as Windrow wrote {}: {}; {} to {}, "
        "and rows without another line run again",
        start.quarantined == 1 ? "1 line"
                               : fmt::format("{} lines", with_thousands(start.quarantined)),
        start.quarantined == 1 ? "is" : "are", start.quarantined == 1 ? "it" : "them",
        start.quarantined_first, start.quarantined == 1 ? "it is moved" : "they are moved",
        paths.quarantine));
  }
  if (start.torn_bytes > 0) {
    console.note(
        fmt::format("an earlier run ended while it wrote; its last {} bytes are an incomplete "
                    "line, whose row runs again",
                    with_thousands(start.torn_bytes)));
  }
}

void report_start(const RunCommand& command, const FleetChoice& choice, Console& console) {
  console.event("start", {{"input", command.input},
                          {"output", command.output},
                          {choice.upstreams.empty() ? "models" : "upstreams", describe(choice)}});
}

// --- the job ---

batch::RunHooks hooks_for(fleet::JobFleet& fleet, const std::string& input,
                          dispatch::Cost& dearest_row, Console& console) {
  fleet::JobHooks of_fleet = fleet.hooks();
  batch::RunHooks hooks;
  hooks.check = std::move(of_fleet.check);
  hooks.before_row = std::move(of_fleet.before_row);
  hooks.upstreams_of = std::move(of_fleet.upstreams_of);
  if (of_fleet.expected_cost) {
    hooks.expected_cost = [&dearest_row, expected_cost = std::move(of_fleet.expected_cost)](
                              const llm::Request& request) {
      auto cost = expected_cost(request);
      if (const auto* known = std::get_if<dispatch::Cost>(&cost))
        dearest_row = std::max(dearest_row, *known);
      return cost;
    };
  }
  hooks.on_fault = [&console, input](const batch::LineFault& fault) {
    const std::string id =
        fault.custom_id.empty() ? "" : fmt::format(", custom_id \"{}\"", fault.custom_id);
    // Messages about a line itself begin with its number.
    const std::string place = fmt::format("line {}", fault.line);
    const bool has_place = fault.failure.message.starts_with(place + " ");
    console.error(
        fmt::format("{}: {}{}", input, has_place ? "" : place + id + ": ", fault.failure.message));
  };
  return hooks;
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

// --- the end ---

// A failure to write them spoils no result, so it is only a warning.
void write_reports(store::Disk& disk, report::Summary& summary,
                   const report::ThroughputHistory& history, Console& console) {
  Result<std::vector<report::FailureCount>> failures =
      report::count_failures(disk, summary.files.errors);
  if (failures) summary.failures = *std::move(failures);
  if (!summary.report.empty() && !summary.ran() && disk.exists(summary.report)) {
    console.note(fmt::format("no row ran, so {} is unchanged", summary.report));
  } else if (!summary.report.empty()) {
    const Result<void> report =
        disk.write_atomically(summary.report, report::report_html(summary, history));
    if (!report) {
      console.warn(fmt::format("there is no report: {}", report.error().message));
      summary.report.clear();
    }
  }
  const Result<void> written = report::write_summary(disk, summary);
  if (!written) console.warn(fmt::format("there is no summary: {}", written.error().message));
}

// Rows to retry that are not in the input any more.
void report_missing_rows(const batch::JobReport& report, const std::string& input,
                         const batch::JobPaths& paths, Console& console) {
  if (report.rows_gone == 0) return;
  std::string named;
  for (const batch::GoneRow& row : report.gone) {
    named += row.custom_id.empty()
                 ? fmt::format("\n  line {}", row.line)
                 : fmt::format("\n  custom_id \"{}\" (was line {})", row.custom_id, row.line);
  }
  const auto more = report.rows_gone - static_cast<int64_t>(report.gone.size());
  if (more > 0) named += fmt::format("\n  and {} more", with_thousands(more));
  console.warn(fmt::format(
      "{} failed {} not in {} any more and did not run; {} in {}:{}",
      with_thousands(report.rows_gone), report.rows_gone == 1 ? "row is" : "rows are", input,
      report.rows_gone == 1 ? "its line stays" : "their lines stay", paths.errors, named));
}

// A field that was ignored may be a mistake, so each is named.
void report_ignored_fields(const batch::JobReport& report, Console& console) {
  for (const auto& [field, rows] : report.ignored_fields) {
    console.warn(fmt::format("the unknown field {} was ignored in {} {}", llm::shown(field),
                             with_thousands(rows), rows == 1 ? "row" : "rows"));
  }
}

void report_end(const report::Summary& summary, const Settings& settings, Console& console) {
  console.event("end", report::summary_to_json(summary));
  if (settings.summary) {
    console.show(report::summary_to_text(summary));
  } else if (!settings.json) {
    console.note(fmt::format("{} {} succeeded, {} failed", with_thousands(summary.rows_succeeded),
                             summary.rows_succeeded == 1 ? "row" : "rows",
                             with_thousands(summary.rows_failed)));
  }
  if (summary.end == report::RunEnd::kInterrupted) console.error(interrupted_text(summary));
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
  const Clock& clock = context.clock();
  store::Disk& disk = context.disk();
  Console& console = context.console();

  // Everything that can be checked without opening anything.
  Result<FleetChoice> chosen = context.choose();
  if (!chosen) return context.fail(chosen.error());
  // A dry run writes nothing and may do without a name.
  if (!command.output.empty()) {
    const Result<void> output_checked = check_output_path(command.output);
    if (!output_checked) return context.fail(output_checked.error());
    const Result<void> files_checked = check_files_differ(command, settings);
    if (!files_checked) return context.fail(files_checked.error());
  }
  const Result<void> report_checked = check_report_path(settings.report);
  if (!report_checked) return context.fail(report_checked.error());
  const Result<void> fetched = [&] {
    const auto keep = [&] {
      console.error("interrupted; what was downloaded is kept, and the same command continues");
      std::_Exit(kExitInterrupted);
    };
    const StopRelay::Attachment interrupted(relay, StopRelay::Target{keep, keep});
    return fetch_models(chosen->models, environment, clock, disk, console);
  }();
  if (!fetched) return context.fail(fetched.error());
  Result<batch::JobOptions> made = options_of(command, settings, *chosen);
  if (!made) return context.fail(made.error());
  batch::JobOptions options = *std::move(made);
  options.now_unix_s = clock.unix_seconds();
  const Result<std::unique_ptr<batch::Input>> input = batch::open_input(command.input);
  if (!input) return context.fail(input.error());

  // Until rows run there is nothing to finish and nothing to lose.
  const auto leave = [&] {
    console.error("interrupted before any row ran; the same command starts again");
    std::_Exit(kExitInterrupted);
  };
  std::optional<StopRelay::Attachment> until_rows_run(std::in_place, relay,
                                                      StopRelay::Target{leave, leave});

  // The job: its files, its lock, what an earlier run left. It counts its rows in the background.
  if (settings.dry_run) return dry_run_command(**input, options, *chosen, settings, clock, console);
  const TimePoint started_at = clock.now();
  const int64_t started_unix_s = clock.unix_seconds();
  batch::JobCounters counters;
  const Result<std::unique_ptr<batch::JobRunner>> job =
      batch::JobRunner::open(options, {disk, clock, **input}, counters);
  if (!job) return context.fail(job.error());
  report_resume((*job)->start(), (*job)->paths(), console);

  std::atomic<bool> budget_spent = false;
  dispatch::Cost dearest_row = 0;  // the submitter's, until the rows have ended

  // The fleet; the reporter reads its counters from the start and ends first.
  const std::unique_ptr<fleet::JobFleet> fleet =
      make_job_fleet(*chosen, context.fleet_setting(requests_for(context.files_max())));
  report_start(command, *chosen, console);
  ProgressReporter reporter(console, [&] {
    report::ProgressReading reading = report::read_progress(counters, fleet->stats(), clock.now());
    reading.upstreams = fleet->upstreams();
    return reading;
  });
  const Result<void> opened = fleet->open({.began_unix_s = (*job)->start().began_unix_s,
                                           .refusal = [&] { return (*job)->refusal(); },
                                           .on_budget_spent =
                                               [&] {
                                                 budget_spent = true;
                                                 (*job)->stop();
                                               },
                                           .on_all_failed = [&] { (*job)->stop_now(); }});
  if (!opened) return context.fail(opened.error());
  if (const std::string note = fleet->note(); !note.empty()) console.note(note);

  // The rows.
  const TimePoint loaded_at = clock.now();
  until_rows_run.reset();
  const Result<batch::JobReport> result = [&] {
    const StopRelay::Attachment stops_job(relay, stop_target(**job, settings, console));
    std::vector<batch::ModelRoute> routes;
    for (const fleet::JobRoute& route : fleet->routes())
      routes.push_back({route.model, route.dispatcher});
    Result<batch::JobReport> done =
        (*job)->run(routes, hooks_for(*fleet, command.input, dearest_row, console));
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
  if (result) report_missing_rows(*result, command.input, (*job)->paths(), console);
  if (result) report_ignored_fields(*result, console);
  if (!did_something(counters, result)) return batch::exit_code(result);
  report::Summary summary{.version = WINDROW_VERSION,
                          .runtime = fleet->runtime(),
                          .input = command.input,
                          .files = (*job)->paths(),
                          .report = settings.report,
                          .started_unix_s = started_unix_s,
                          .ended_unix_s = clock.unix_seconds(),
                          .loading = loaded_at - started_at,
                          .running = ended_at - loaded_at,
                          .backend = fleet->stats(),
                          .upstreams = fleet->upstreams(),
                          .dispatch = fleet->counts(),
                          .settings = settings_with_sources(context.resolved())};
  add_result(counters, result, summary);
  if (budget_spent && summary.end == report::RunEnd::kInterrupted) {
    summary.error =
        summary.dispatch.spent > 0
            ? fmt::format("--max-cost {} would be exceeded by the next row: {} are spent",
                          settings.cost_max, dollars(summary.dispatch.spent))
            : fmt::format(
                  "--max-cost {} is too little: one row may cost up to {}; raise it, or "
                  "lower max_tokens",
                  settings.cost_max, dollars(dearest_row));
    summary.exit_code = summary.dispatch.spent > 0 ? kExitBudgetSpent : kExitUnusable;
  }
  write_reports(disk, summary, reporter.history(), console);
  report_end(summary, settings, console);
  return summary.exit_code;
}

}  // namespace windrow::app
