#include "report/job_status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "base/format.h"
#include "batch/job_record.h"
#include "batch/log_rewrite.h"
#include "batch/log_scan.h"
#include "json/values.h"
#include "report/summary.h"
#include "report/text_table.h"

namespace windrow::report {
namespace {

namespace json = boost::json;

struct Walked {
  uint64_t whole_bytes = 0;
  uint64_t torn_bytes = 0;
  uint64_t lines = 0;
};

// Every whole line of a log that is ours, up to line `lines_max`.
Result<Walked> walk_status_log(store::ReadFile* file, batch::LogKind kind, uint64_t lines_max,
                               LogTally& tally,
                               const std::function<void(const batch::LogLine&)>& each) {
  Walked walked;
  if (file == nullptr) return walked;
  batch::LogLines lines(*file);
  while (walked.lines < lines_max) {
    const auto text = lines.next();
    if (!text) return text.error();
    if (!*text) {
      walked.torn_bytes = lines.torn().size();
      break;
    }
    ++walked.lines;
    if (const std::optional<batch::LogLine> line = tally.read(kind, walked.lines, **text))
      each(*line);
  }
  walked.whole_bytes = lines.offset();
  return walked;
}

constexpr uint64_t kAllLines = UINT64_MAX;

using File = std::unique_ptr<store::ReadFile>;

// Nothing where there is no such file.
Result<File> open_status_log(store::Disk& disk, const std::string& path) {
  auto file = disk.open_read(path);
  if (!file && file.error().kind == ErrorKind::kNotFound) return File();
  return file;
}

Result<void> read_logs(store::Disk& disk, size_t failures_held_max, JobStatus& status,
                       LogTally& tally) {
  // Both are opened first: a file that a run renames to the same name later is of another moment.
  const Result<File> errors = open_status_log(disk, status.paths.errors);
  if (!errors) return errors.error();
  const Result<File> results = open_status_log(disk, status.paths.results);
  if (!results) return results.error();

  // Which failures count is known only after the results, so the errors are read twice. Odd lines
  // are counted the second time.
  batch::StandingFailures standing;
  LogTally unused;
  const auto failures = walk_status_log(errors->get(), batch::LogKind::kErrors, kAllLines, unused,
                                        [&](const batch::LogLine& line) {
                                          if (standing.size() < failures_held_max) {
                                            standing.add_failure(line.identity);
                                          } else {
                                            status.superseded_unknown = true;
                                          }
                                        });
  if (!failures) return failures.error();
  const auto answers = walk_status_log(results->get(), batch::LogKind::kResults, kAllLines, tally,
                                       [&](const batch::LogLine& line) {
                                         standing.add_result(line.identity);
                                         tally.count_result();
                                       });
  if (!answers) return answers.error();
  const auto counted =
      walk_status_log(errors->get(), batch::LogKind::kErrors, failures->lines, tally,
                      [&](const batch::LogLine& line) {
                        if (status.superseded_unknown || standing.take(line.identity)) {
                          tally.count_failure();
                        } else {
                          ++status.superseded;
                        }
                      });
  if (!counted) return counted.error();
  status.results_bytes = answers->whole_bytes;
  status.results_torn_bytes = answers->torn_bytes;
  status.errors_bytes = failures->whole_bytes;
  status.errors_torn_bytes = failures->torn_bytes;
  return {};
}

}  // namespace

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::kRunning:
      return "running";
    case JobState::kFinished:
      return "finished";
    case JobState::kIncomplete:
      return "incomplete";
    case JobState::kInterrupted:
      return "interrupted";
    case JobState::kFailed:
      return "failed";
    case JobState::kCutShort:
      return "cut_short";
  }
  return "";
}

JobState judge_state(const std::optional<batch::LastRun>& last, int64_t results_bytes,
                     int64_t errors_bytes) {
  if (!last || last->results_bytes != results_bytes || last->errors_bytes != errors_bytes) {
    return JobState::kCutShort;
  }
  if (last->end == to_string(RunEnd::kInterrupted)) return JobState::kInterrupted;
  if (last->end == to_string(RunEnd::kFailed)) return JobState::kFailed;
  return last->rows_left > 0 ? JobState::kIncomplete : JobState::kFinished;
}

Result<JobStatus> read_job_status(store::Disk& disk, const batch::JobPaths& paths,
                                  size_t failures_held_max) {
  JobStatus status{.paths = paths};
  const auto holder = disk.lock_holder(paths.lock);
  if (!holder) return holder.error();
  if (const auto record = disk.read_all(paths.record)) {
    if (auto parsed = batch::parse_job_record(*record, paths.record)) status.input = parsed->input;
  }
  auto tally = std::make_unique<LogTally>();
  if (auto done = read_logs(disk, failures_held_max, status, *tally); !done) return done.error();
  status.tally = std::move(tally);
  if (const auto summary = disk.read_all(paths.summary))
    status.last = batch::read_last_run(*summary);
  if (*holder) {
    status.state = JobState::kRunning;
    status.holder = **holder;
  } else {
    status.state = judge_state(
        status.last, static_cast<int64_t>(status.results_bytes + status.results_torn_bytes),
        static_cast<int64_t>(status.errors_bytes + status.errors_torn_bytes));
  }
  return status;
}

// --- what is shown ---------------------------------------------------------------------------

namespace {

constexpr size_t kKindsShown = 8;
constexpr size_t kModelsShown = 8;
constexpr size_t kBarsOfJson = 64;

llm::TokenCount status_tokens(const LogTally& tally) {
  llm::TokenCount sum;
  for (const auto& [model, of] : tally.models())
    sum += of.tokens;
  return sum;
}

// --- JSON ---

json::object tokens_to_json(const llm::TokenCount& tokens) {
  return {{"prompt_tokens", tokens.prompt},
          {"cached_tokens", tokens.cached},
          {"completion_tokens", tokens.completion}};
}

json::array failures_to_json(const LogTally& tally) {
  json::array array;
  for (const FailureKind& kind : tally.failures()) {
    array.push_back(
        json::object{{"class", failure_class(kind.status)},
                     {"status", kind.status == 0 ? json::value(nullptr) : json::value(kind.status)},
                     {"code", kind.code},
                     {"rows", kind.rows},
                     {"example", json::object{{"line", kind.example_line},
                                              {"custom_id", text_or_null(kind.example_id)},
                                              {"message", kind.example_message}}}});
  }
  return array;
}

json::array models_to_json(const LogTally& tally, const llm::PriceTable* prices) {
  json::array array;
  for (const auto& [model, of] : tally.models()) {
    json::object object{{"model", model}, {"rows", of.rows}, {"usage", tokens_to_json(of.tokens)}};
    if (prices != nullptr) {
      const llm::Price* price = prices->find(model);
      object["cost_usd"] =
          price == nullptr ? json::value(nullptr) : json::value(llm::cost_usd(*price, of.computed));
    }
    array.push_back(std::move(object));
  }
  return array;
}

json::object times_to_json(const LatencyHistogram& times) {
  return {{"rows", times.count()},
          {"min_ms", times.min_ms()},
          {"p50_ms", times.quantile_ms(0.5)},
          {"p90_ms", times.quantile_ms(0.9)},
          {"p99_ms", times.quantile_ms(0.99)},
          {"max_ms", times.max_ms()}};
}

json::object latency_to_json(const LogTally& tally) {
  json::object object = times_to_json(tally.latency());
  json::array bars;
  for (const LatencyHistogram::Bar& bar : tally.latency().bars(kBarsOfJson)) {
    bars.push_back(
        json::object{{"from_ms", bar.from_ms}, {"to_ms", bar.to_ms}, {"rows", bar.count}});
  }
  object["histogram"] = std::move(bars);
  object["queue"] = times_to_json(tally.queue());
  object["prefill"] = times_to_json(tally.prefill());
  object["decode"] = times_to_json(tally.decode());
  return object;
}

json::object log_to_json(const std::string& path, uint64_t whole_bytes, uint64_t torn_bytes,
                         const OddLines& odd) {
  json::object object{
      {"path", path}, {"bytes", whole_bytes}, {"torn_bytes", torn_bytes}, {"odd_lines", odd.lines}};
  if (odd.lines > 0) {
    object["first_odd"] = json::object{{"line", odd.first}, {"why", odd.first_why}};
  }
  return object;
}

// --- text ---

std::string state_text(const JobStatus& status) {
  switch (status.state) {
    case JobState::kRunning:
      return fmt::format("running: {}", status.holder);
    case JobState::kFinished:
      return status.tally->failed() == 0
                 ? "finished"
                 : "finished; the same command with --retry-failed runs the failed rows again";
    case JobState::kIncomplete:
      return "not finished: the last run left rows out; the command that began the job runs them";
    case JobState::kInterrupted:
      return "interrupted; the same command continues";
    case JobState::kFailed:
      return fmt::format("not finished: the last run ended early: {}",
                         status.last ? status.last->error : "");
    case JobState::kCutShort:
      // A server keeps the state of its batches in a database and writes no summaries.
      if (!status.last && status.input.starts_with("file-")) {
        return fmt::format(
            "a batch of windrow serve; see its state with GET /v1/batches/{}",
            std::filesystem::path(status.paths.results).parent_path().filename().string());
      }
      return "not running; the last run was killed. Run the same command again to continue";
  }
  return "";
}

std::string status_rows_text(const JobStatus& status) {
  std::string text =
      fmt::format("{} succeeded, {} failed", with_thousands(status.tally->succeeded()),
                  with_thousands(status.tally->failed()));
  if (status.last_holds() && status.last->rows_left > 0) {
    text += fmt::format(", {} left", with_thousands(status.last->rows_left));
  }
  return text;
}

std::string kind_text(const FailureKind& kind) {
  const std::string status = kind.status == 0 ? "" : fmt::format("{} ", kind.status);
  const std::string id =
      kind.example_id.empty() ? "" : fmt::format(", custom_id \"{}\"", kind.example_id);
  // What follows is the traceback of a program.
  const std::string_view first_line =
      std::string_view(kind.example_message).substr(0, kind.example_message.find('\n'));
  return fmt::format("{} x {}{} ({}); line {}{}: {}", with_thousands(kind.rows), status, kind.code,
                     failure_class(kind.status), kind.example_line, id, first_line);
}

void add_failures(const LogTally& tally, TextTable& table) {
  const std::vector<FailureKind> kinds = tally.failures();
  const size_t shown = std::min(kinds.size(), kKindsShown);
  for (size_t i = 0; i < shown; ++i)
    table.row(i == 0 ? "failures" : "", kind_text(kinds[i]));
  if (kinds.size() > shown) {
    table.row("", fmt::format("and {} other kinds; --json has them", kinds.size() - shown));
  }
}

std::string tokens_text(const llm::TokenCount& tokens) {
  const std::string cached =
      tokens.cached == 0 ? "" : fmt::format(" ({} cached)", with_thousands(tokens.cached));
  return fmt::format("{} prompt{}, {} generated", with_thousands(tokens.prompt), cached,
                     with_thousands(tokens.completion));
}

void add_models(const LogTally& tally, TextTable& table) {
  if (tally.models().size() < 2) return;
  size_t shown = 0;
  for (const auto& [model, of] : tally.models()) {
    if (shown++ == kModelsShown) break;
    table.row("", fmt::format("{}: {} rows, {}", model.empty() ? "(no name)" : model,
                              with_thousands(of.rows), tokens_text(of.tokens)));
  }
  if (tally.models().size() > kModelsShown) {
    table.row("", fmt::format("and {} other models; --json has them",
                              tally.models().size() - kModelsShown));
  }
}

std::string usd_text(double usd) {
  return usd < 1 ? fmt::format("${:.4f}", usd) : fmt::format("${:.2f}", usd);
}

void add_cost(const LogTally& tally, const llm::PriceTable& prices, TextTable& table) {
  const JobCost cost = cost_of(tally, prices);
  table.row("cost", usd_text(cost.usd));
  if (cost.unpriced.empty()) return;
  table.row("", fmt::format("without {} rows of {}, which have no price",
                            with_thousands(cost.unpriced_rows), fmt::join(cost.unpriced, ", ")));
}

void add_odd(std::string_view path, const OddLines& odd, uint64_t torn_bytes, bool running,
             TextTable& table) {
  if (odd.lines > 0) {
    table.row("odd lines",
              fmt::format("{} of {} were not written by Windrow; the first is line {} ({})",
                          with_thousands(odd.lines), path, odd.first, odd.first_why));
  }
  if (torn_bytes > 0 && !running) {
    table.row("torn",
              fmt::format("the last {} bytes of {} are not a whole line; that row runs again",
                          with_thousands(static_cast<int64_t>(torn_bytes)), path));
  }
}

}  // namespace

JobCost cost_of(const LogTally& tally, const llm::PriceTable& prices) {
  JobCost cost;
  for (const auto& [model, of] : tally.models()) {
    if (const llm::Price* price = prices.find(model)) {
      cost.usd += llm::cost_usd(*price, of.computed);
    } else {
      cost.unpriced.push_back(model.empty() ? "(no name)" : model);
      cost.unpriced_rows += of.rows;
    }
  }
  return cost;
}

json::object status_to_json(const JobStatus& status, const llm::PriceTable* prices) {
  const LogTally& tally = *status.tally;
  json::object object{
      {"version", 1},
      {"state", to_string(status.state)},
      {"running", status.state == JobState::kRunning},
      {"holder", text_or_null(status.holder)},
      {"error", status.last_holds() ? text_or_null(status.last->error) : json::value(nullptr)},
      {"input", text_or_null(status.input)},
      {"rows",
       json::object{
           {"succeeded", tally.succeeded()},
           {"failed", tally.failed()},
           {"total", status.last_holds() ? count_or_null(status.last->rows_total) : nullptr},
           {"left", status.last_holds() ? count_or_null(status.last->rows_left) : nullptr}}},
      {"failures", failures_to_json(tally)},
      {"attempts", tally.attempts()},
      {"usage", tokens_to_json(status_tokens(tally))},
      {"lost_tokens", tally.lost_tokens()},
      {"models", models_to_json(tally, prices)},
      {"latency", latency_to_json(tally)},
      {"superseded_lines",
       status.superseded_unknown ? json::value(nullptr) : json::value(status.superseded)},
      {"files",
       json::object{
           {"results", log_to_json(status.paths.results, status.results_bytes,
                                   status.results_torn_bytes, tally.odd(batch::LogKind::kResults))},
           {"errors", log_to_json(status.paths.errors, status.errors_bytes,
                                  status.errors_torn_bytes, tally.odd(batch::LogKind::kErrors))}}}};
  if (prices != nullptr) {
    const JobCost cost = cost_of(tally, *prices);
    json::array unpriced;
    for (const std::string& model : cost.unpriced)
      unpriced.emplace_back(model);
    object["cost"] = json::object{{"usd", cost.usd},
                                  {"unpriced_rows", cost.unpriced_rows},
                                  {"unpriced_models", std::move(unpriced)}};
  }
  return object;
}

std::string status_to_text(const JobStatus& status, const llm::PriceTable* prices,
                           size_t histogram_width) {
  const LogTally& tally = *status.tally;
  const bool running = status.state == JobState::kRunning;
  TextTable table;
  table.row("job", state_text(status));
  if (!status.input.empty()) table.row("input", status.input);
  table.row("rows", status_rows_text(status));
  add_failures(tally, table);
  if (status.superseded > 0) {
    table.row("", fmt::format(
                      "{} failed rows have run again since; their old lines are removed when that "
                      "run ends",
                      with_thousands(status.superseded)));
  }
  if (status.superseded_unknown) {
    table.row("", "with so many failures, rows that have run again since are counted twice");
  }
  table.row("attempts", with_thousands(tally.attempts()));
  table.row("tokens", tokens_text(status_tokens(tally)));
  if (tally.lost_tokens() > 0) {
    table.row("",
              fmt::format("and {} in attempts that failed", with_thousands(tally.lost_tokens())));
  }
  add_models(tally, table);
  if (prices != nullptr) add_cost(tally, *prices, table);
  const LatencyHistogram& latency = tally.latency();
  if (latency.count() > 0) {
    table.row(
        "latency",
        fmt::format("{} median, {} for 90 %, {} for 99 %, {} at most",
                    latency_text(latency.quantile_ms(0.5)), latency_text(latency.quantile_ms(0.9)),
                    latency_text(latency.quantile_ms(0.99)), latency_text(latency.max_ms())));
  }
  add_odd(status.paths.results, tally.odd(batch::LogKind::kResults), status.results_torn_bytes,
          running, table);
  add_odd(status.paths.errors, tally.odd(batch::LogKind::kErrors), status.errors_torn_bytes,
          running, table);
  std::string text = table.take();
  if (histogram_width > 0 && latency.count() > 0) {
    text += "\n" + histogram_text(latency, histogram_width);
  }
  return text;
}

}  // namespace windrow::report
