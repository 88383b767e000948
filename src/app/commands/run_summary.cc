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
    summary.end = result->end == batch::JobEnd::kCompleted ? report::RunEnd::kCompleted
                                                           : report::RunEnd::kInterrupted;
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
