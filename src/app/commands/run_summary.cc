#include "app/commands/run_summary.h"

#include <fmt/format.h>

#include "base/format.h"

namespace windrow::app {

void add_result(const batch::JobCounters& counters, const Result<batch::JobReport>& result,
                report::Summary& summary) {
  summary.exit_code = batch::exit_code(result);
  if (!result) {
    summary.end = report::RunEnd::kFailed;
    summary.error = result.error().message;
  } else {
    summary.end = result->end == batch::JobEnd::kCompleted     ? report::RunEnd::kCompleted
                  : result->end == batch::JobEnd::kInterrupted ? report::RunEnd::kInterrupted
                                                               : report::RunEnd::kFailed;
    summary.ordered = result->ordered;
  }
  const int64_t before_failed = counters.rows_before_failed;
  summary.rows_total = counters.rows_total;
  summary.rows_before = counters.rows_before;
  summary.rows_succeeded = summary.rows_before - before_failed + counters.rows_succeeded;
  summary.rows_failed = before_failed + counters.rows_failed;
  summary.rows_this_run = counters.rows_succeeded + counters.rows_failed;
  summary.attempts = counters.attempts;
  summary.prompt_tokens = counters.prompt_tokens;
  summary.completion_tokens = counters.completion_tokens;
}

std::string failures_text(const batch::FailureStop& stop, const report::Summary& summary,
                          bool only_retried) {
  const std::string id =
      stop.custom_id.empty() ? "" : fmt::format(", custom_id \"{}\"", stop.custom_id);
  const std::string status = stop.status == 0 ? "" : fmt::format("{} ", stop.status);
  const std::string example =
      fmt::format("{}{} at line {}{}: {}", status, stop.code, stop.line, id, stop.message);
  const std::string left =
      summary.rows_left() > 0
          ? fmt::format("{} rows did not run", with_thousands(summary.rows_left()))
          : "the other rows did not run";
  // No row has an answer, so starting over loses nothing, whatever is changed.
  const std::string_view again =
      only_retried ? "then retry again" : "then run it again with --fresh";
  if (stop.alike) {
    return fmt::format(
        "stopped, because the first {} rows all failed alike ({}); {}. Correct the input or the "
        "flags, {}; --max-failures all runs every row all the same",
        stop.rows, example, left, again);
  }
  return fmt::format(
      "stopped, because --max-failures {} is reached (the last one: {}); {}. Correct what failed, "
      "then {}",
      stop.rows, example, left,
      only_retried
          ? "retry again"
          : "run it again with --retry-failed; without that flag it goes on with the other "
            "rows");
}

bool did_something(const batch::JobCounters& counters, const Result<batch::JobReport>& result) {
  return result.has_value() || counters.attempts > 0 ||
         counters.rows_succeeded + counters.rows_failed > 0;
}

std::string interrupted_text(const report::Summary& summary) {
  const int64_t done = summary.rows_succeeded + summary.rows_failed;
  const std::string rows = summary.rows_total < 0 ? with_thousands(done)
                                                  : fmt::format("{} of {}", with_thousands(done),
                                                                with_thousands(summary.rows_total));
  // An error says itself what to do first.
  if (!summary.error.empty()) return fmt::format("{}; {} rows are done", summary.error, rows);
  return fmt::format("interrupted: {} rows are done; run the same command again to continue", rows);
}

}  // namespace windrow::app
