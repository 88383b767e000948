#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "json/values.h"
#include "report/job_status.h"
#include "report/text_table.h"
#include "report/upstream_figures.h"

namespace windrow::report {
namespace {

namespace json = boost::json;

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

json::object progress_member(const JobStatus& status) {
  json::object object = progress_to_json(status.progress->numbers);
  object["age_s"] = status.progress_age_s;
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

// Rows in all, and those without an outcome; -1: unknown. Of a running job as it has told, which
// is a second older than the logs.
int64_t total_of(const JobStatus& status) {
  if (status.progress) return status.progress->numbers.rows_total;
  return status.last_holds() ? status.last->rows_total : -1;
}

int64_t left_of(const JobStatus& status) {
  if (!status.progress) return status.last_holds() ? status.last->rows_left : -1;
  const ProgressNumbers& numbers = status.progress->numbers;
  return numbers.rows_total < 0 ? -1 : std::max<int64_t>(0, numbers.rows_total - numbers.rows_done);
}

std::string status_rows_text(const JobStatus& status) {
  std::string text =
      fmt::format("{} succeeded, {} failed", with_thousands(status.tally->succeeded()),
                  with_thousands(status.tally->failed()));
  const int64_t left = left_of(status);
  if (left > 0) text += fmt::format(", {} left", with_thousands(left));
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
      {"rows", json::object{{"succeeded", tally.succeeded()},
                            {"failed", tally.failed()},
                            {"total", count_or_null(total_of(status))},
                            {"left", count_or_null(left_of(status))}}},
      {"progress", status.progress ? json::value(progress_member(status)) : json::value(nullptr)},
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

std::string progress_to_text(const ProgressRecord& progress, int64_t age_s) {
  // A run writes it every second; one that was suspended, or whose disk is full, does not.
  constexpr int64_t kOldS = 10;
  const ProgressNumbers& numbers = progress.numbers;
  const bool running = numbers.phase == batch::JobPhase::kRunning;
  TextTable table;
  std::string done = rows_done_text(numbers);
  if (numbers.rows_total > 0)
    done += fmt::format(" ({})", percent_done(numbers.rows_done, numbers.rows_total));
  done += " rows";
  if (numbers.rows_failed > 0)
    done += fmt::format(", {} failed", with_thousands(numbers.rows_failed));
  if (age_s > kOldS) done += fmt::format(", {} ago", human_duration(std::chrono::seconds(age_s)));
  table.row("progress", done);
  std::string rates = rates_text(numbers);
  if (numbers.prompt_reused > 0)
    rates += fmt::format(", {} of the prompts reused", percent_of(numbers.prompt_reused));
  if (numbers.upstreams.empty()) rates += fmt::format(", {} rows in batch", numbers.rows_running);
  table.row("rate", rates);
  std::string time = fmt::format("{} so far", human_duration(numbers.elapsed));
  if (numbers.left) time += fmt::format(", about {} left", human_duration(*numbers.left));
  if (running && !numbers.left) time += ", time left not known yet";
  if (!running) time += fmt::format(" ({})", to_string(numbers.phase));
  table.row("time", time);
  if (const std::string retries = retries_text(numbers.retries); !retries.empty())
    table.row("retries", retries);
  std::string_view servers = numbers.upstreams.size() == 1 ? "server" : "servers";
  for (const llm::UpstreamStatus& upstream : numbers.upstreams)
    table.row(std::exchange(servers, ""), upstream_piece(upstream));
  return table.take();
}

std::string status_to_text(const JobStatus& status, const llm::PriceTable* prices,
                           size_t histogram_width) {
  const LogTally& tally = *status.tally;
  const bool running = status.state == JobState::kRunning;
  TextTable table;
  table.row("job", state_text(status));
  if (!status.input.empty()) table.row("input", status.input);
  table.row("rows", status_rows_text(status));
  if (status.progress) {
    table.lines(progress_to_text(*status.progress, status.progress_age_s));
  }
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
