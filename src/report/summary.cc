#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <span>
#include <utility>

#include "base/format.h"
#include "json/values.h"
#include "json/writer.h"
#include "report/text_table.h"

namespace windrow::report {
namespace {

namespace json = boost::json;

double rate(int64_t count, Duration time) {
  return time > Duration::zero() ? static_cast<double>(count) / seconds(time) : 0;
}

// Milliseconds are as much as any of these means.
double rounded(double value) {
  return static_cast<double>(static_cast<int64_t>(value * 1000)) / 1000;
}

json::object settings_to_json(const std::vector<SummarySetting>& settings) {
  json::object object;
  for (const SummarySetting& setting : settings) {
    object.emplace(setting.name,
                   json::object{{"value", setting.value}, {"source", setting.source}});
  }
  return object;
}

json::array upstreams_to_json(const std::vector<llm::UpstreamStatus>& upstreams) {
  json::array array;
  for (const llm::UpstreamStatus& upstream : upstreams)
    array.push_back(to_json(upstream));
  return array;
}

json::object dispatch_to_json(const dispatch::DispatchCounts& counts) {
  return {{"calls", counts.calls},
          {"retries", counts.retries},
          {"shared_answers", counts.coalesced},
          {"cached_answers", counts.cached},
          {"batches", counts.batches},
          {"batched_rows", counts.batched_rows},
          {"cost_usd", static_cast<double>(counts.spent) / dispatch::kCostUnit}};
}

// Rows that were not sent, because the answer was known.
std::string not_asked_text(const dispatch::DispatchCounts& counts) {
  std::string text;
  if (counts.coalesced > 0) {
    text = fmt::format("{} rows got the answer of an equal one", with_thousands(counts.coalesced));
  }
  if (counts.cached > 0) {
    text += fmt::format("{}{} were in the cache", text.empty() ? "" : ", ",
                        with_thousands(counts.cached));
  }
  return text;
}

std::string rows_text(const Summary& summary) {
  std::string text = fmt::format("{} succeeded, {} failed", with_thousands(summary.rows_succeeded),
                                 with_thousands(summary.rows_failed));
  if (summary.rows_left() > 0) {
    text += fmt::format(", {} left", with_thousands(summary.rows_left()));
  }
  if (summary.rows_before > 0) {
    text += fmt::format(" ({} in earlier runs, {} in this one)",
                        with_thousands(summary.rows_before), with_thousands(summary.rows_this_run));
  }
  return text;
}

// Members about a run, not about the job.
constexpr std::array<std::string_view, 6> kFigures = {"windrow",  "runtime",  "started_at",
                                                      "ended_at", "this_run", "settings"};
constexpr std::array<std::string_view, 2> kRowFigures = {"earlier_runs", "this_run"};

void copy_members(const json::object& from, std::span<const std::string_view> names,
                  json::object& to) {
  for (const std::string_view name : names) {
    if (const json::value* value = from.if_contains(name)) to[name] = *value;
  }
}

// Copies the members of the last run in which rows ran from the file, if there is one.
void keep_figures(store::Disk& disk, const std::string& path, json::object& summary) {
  const Result<std::string> text = disk.read_all(path);
  if (!text) return;
  boost::system::error_code not_json;
  const json::value parsed = json::parse(*text, not_json);
  const json::object* before = not_json ? nullptr : parsed.if_object();
  if (before == nullptr || object_in(*before, "this_run") == nullptr) return;
  const json::object* rows = object_in(*before, "rows");
  const json::object* files = object_in(*before, "files");
  if (rows == nullptr || files == nullptr) return;
  copy_members(*before, kFigures, summary);
  copy_members(*rows, kRowFigures, summary["rows"].as_object());
  json::object& files_now = summary["files"].as_object();
  if (files_now["report"].is_null() && files->contains("report")) {
    files_now["report"] = files->at("report");
  }
}

// 0 where there is no such file.
uint64_t size_of(store::Disk& disk, const std::string& path) {
  const auto file = disk.open_read(path);
  if (!file) return 0;
  const auto size = (*file)->size();
  return size ? *size : 0;
}

}  // namespace

std::string_view to_string(RunEnd end) {
  switch (end) {
    case RunEnd::kCompleted:
      return "completed";
    case RunEnd::kInterrupted:
      return "interrupted";
    case RunEnd::kFailed:
      return "failed";
  }
  return "";
}

json::object summary_to_json(const Summary& summary) {
  const llm::BackendStats& backend = summary.backend;
  return json::object{
      {"version", 1},
      {"windrow", summary.version},
      {"runtime", summary.runtime},
      {"end", to_string(summary.end)},
      {"error", text_or_null(summary.error)},
      {"exit_code", summary.exit_code},
      {"started_at", summary.started_unix_s},
      {"ended_at", summary.ended_unix_s},
      {"input", summary.input},
      {"files", json::object{{"results", summary.files.results},
                             {"errors", summary.files.errors},
                             {"report", text_or_null(summary.report)}}},
      {"ordered", summary.ordered},
      {"rows", json::object{{"total", count_or_null(summary.rows_total)},
                            {"succeeded", summary.rows_succeeded},
                            {"failed", summary.rows_failed},
                            {"left", count_or_null(summary.rows_left())},
                            {"earlier_runs", summary.rows_before},
                            {"this_run", summary.rows_this_run}}},
      {"failures", failures_to_json(summary.failures)},
      {"this_run",
       json::object{
           {"loading_s", rounded(seconds(summary.loading))},
           {"running_s", rounded(seconds(summary.running))},
           {"rows_per_s", rounded(rate(summary.rows_this_run, summary.running))},
           {"attempts", summary.attempts},
           {"usage", json::object{{"prompt_tokens", summary.prompt_tokens},
                                  {"completion_tokens", summary.completion_tokens}}},
           {"computed", json::object{{"prompt_tokens", backend.prompt_tokens},
                                     {"cached_tokens", backend.cached_tokens},
                                     {"generated_tokens", backend.generated_tokens},
                                     {"prompt_tokens_per_s",
                                      rounded(rate(backend.prompt_tokens, summary.running))},
                                     {"generated_tokens_per_s",
                                      rounded(rate(backend.generated_tokens, summary.running))},
                                     {"forward_passes", backend.steps},
                                     {"preemptions", backend.preemptions},
                                     {"recomputed_tokens", backend.recomputed_tokens}}},
           {"dispatch", dispatch_to_json(summary.dispatch)},
           {"upstreams", upstreams_to_json(summary.upstreams)}}},
      {"runs", runs_to_json(summary.runs)},
      {"settings", settings_to_json(summary.settings)}};
}

std::string summary_to_text(const Summary& summary) {
  constexpr size_t kFailuresShown = 8;
  const llm::BackendStats& backend = summary.backend;
  TextTable table;
  table.row("rows", rows_text(summary));
  const size_t kinds = std::min(summary.failures.size(), kFailuresShown);
  for (size_t i = 0; i < kinds; ++i) {
    const FailureCount& failure = summary.failures[i];
    table.row(i == 0 ? "failures" : "", failure_text(failure));
    if (!failure.example.empty()) table.row("", "  as " + failure.example);
  }
  if (summary.failures.size() > kinds) {
    table.row("", fmt::format("and {} other kinds", summary.failures.size() - kinds));
  }
  const bool here = summary.upstreams.empty();
  table.row("time",
            here ? fmt::format("{} running, {} loading the model", human_duration(summary.running),
                               human_duration(summary.loading))
                 : fmt::format("{} running", human_duration(summary.running)));
  // Embeddings and scores generate nothing.
  const bool generated = backend.generated_tokens > 0 || backend.prompt_tokens == 0;
  std::string speed =
      fmt::format("{} rows/s, {} prompt ", human_rate(rate(summary.rows_this_run, summary.running)),
                  human_rate(rate(backend.prompt_tokens, summary.running)));
  std::string tokens = fmt::format("{} prompt", with_thousands(backend.prompt_tokens));
  if (generated) {
    speed += fmt::format("and {} generated ",
                         human_rate(rate(backend.generated_tokens, summary.running)));
    tokens += fmt::format(", {} generated", with_thousands(backend.generated_tokens));
  }
  table.row("speed", speed + "tokens/s");
  if (here) tokens += fmt::format(", in {} forward passes", with_thousands(backend.steps));
  table.row("tokens", tokens);
  if (backend.cached_tokens > 0) {
    const int64_t whole = backend.prompt_tokens + backend.cached_tokens;
    table.row("reused", fmt::format("{:.0f} % of the prompts' tokens: {} were cached",
                                    100 * static_cast<double>(backend.cached_tokens) /
                                        static_cast<double>(whole),
                                    with_thousands(backend.cached_tokens)));
  }
  if (const std::string text = not_asked_text(summary.dispatch); !text.empty())
    table.row("not sent", text);
  if (summary.dispatch.batches > 0) {
    table.row("batches",
              fmt::format("{}, of {:.1f} rows each", with_thousands(summary.dispatch.batches),
                          static_cast<double>(summary.dispatch.batched_rows) /
                              static_cast<double>(summary.dispatch.batches)));
  }
  if (summary.dispatch.spent > 0) {
    table.row("cost", fmt::format("${:.4f}", static_cast<double>(summary.dispatch.spent) /
                                                 dispatch::kCostUnit));
  }
  if (backend.preemptions > 0) {
    table.row("preempted",
              fmt::format("{} times, {} tokens computed again", with_thousands(backend.preemptions),
                          with_thousands(backend.recomputed_tokens)));
  }
  std::string_view servers = summary.upstreams.size() == 1 ? "server" : "servers";
  for (const llm::UpstreamStatus& upstream : summary.upstreams) {
    std::string line = upstreams_text({&upstream, 1});
    line.pop_back();
    table.row(std::exchange(servers, ""), line);
  }
  table.row("results", fmt::format("{}{}", summary.files.results,
                                   summary.ordered ? ", in the order of the input" : ""));
  if (summary.rows_failed > 0) {
    table.row("errors", summary.files.errors);
    table.row("to retry", summary.retry.empty()
                              ? fmt::format("windrow retry {}, with the same --model or --upstream",
                                            summary.files.errors)
                              : summary.retry);
  }
  table.row("summary", summary.files.summary);
  if (!summary.report.empty()) table.row("report", summary.report);
  return table.take();
}

Result<void> write_summary(store::Disk& disk, const Summary& summary) {
  json::object object = summary_to_json(summary);
  if (!summary.ran()) keep_figures(disk, summary.files.summary, object);
  object["log_bytes"] = json::object{{"results", size_of(disk, summary.files.results)},
                                     {"errors", size_of(disk, summary.files.errors)}};
  return disk.write_atomically(summary.files.summary, pretty_json(object));
}

}  // namespace windrow::report
