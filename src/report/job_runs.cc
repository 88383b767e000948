#include "report/job_runs.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "base/clock.h"
#include "json/values.h"
#include "report/summary.h"

namespace windrow::report {
namespace {

namespace json = boost::json;

int64_t whole_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

double number_in_run(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

// Calls `take` for each object of the array of this name.
template <class Take>
void each_object_in(const json::object& object, std::string_view name, Take take) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_array()) return;
  for (const json::value& element : value->get_array()) {
    if (element.is_object()) take(element.get_object());
  }
}

ServerFigures server_in(const json::object& object) {
  return {.name = std::string(text_in(object, "name")),
          .answers = whole_in(object, "answers"),
          .failures = whole_in(object, "failures"),
          .in_flight_max = static_cast<int32_t>(whole_in(object, "in_flight_max")),
          .latency_s = number_in_run(object, "latency_s"),
          .finding = std::string(text_in(object, "finding"))};
}

RunFigures run_in(const json::object& object) {
  RunFigures run{.started_unix_s = whole_in(object, "started_at"),
                 .ended_unix_s = whole_in(object, "ended_at"),
                 .end = std::string(text_in(object, "end")),
                 .running_s = number_in_run(object, "running_s"),
                 .rows = whole_in(object, "rows"),
                 .prompt_tokens = whole_in(object, "prompt_tokens"),
                 .generated_tokens = whole_in(object, "generated_tokens"),
                 .retries = whole_in(object, "retries"),
                 .servers = {}};
  each_object_in(object, "servers",
                 [&](const json::object& server) { run.servers.push_back(server_in(server)); });
  return run;
}

}  // namespace

RunFigures figures_of(const Summary& summary) {
  RunFigures run{.started_unix_s = summary.started_unix_s,
                 .ended_unix_s = summary.ended_unix_s,
                 .end = std::string(to_string(summary.end)),
                 .running_s = seconds(summary.running),
                 .rows = summary.rows_this_run,
                 .prompt_tokens = summary.backend.prompt_tokens,
                 .generated_tokens = summary.backend.generated_tokens,
                 .retries = summary.dispatch.retries,
                 .servers = {}};
  for (const llm::UpstreamStatus& upstream : summary.upstreams) {
    run.servers.push_back({.name = upstream.name,
                           .answers = upstream.answers,
                           .failures = upstream.failures,
                           .in_flight_max = upstream.in_flight_max,
                           .latency_s = upstream.latency_s,
                           .finding = upstream.finding});
  }
  return run;
}

json::array runs_to_json(const std::vector<RunFigures>& runs) {
  json::array array;
  for (const RunFigures& run : runs) {
    json::array servers;
    for (const ServerFigures& server : run.servers) {
      servers.push_back(json::object{{"name", server.name},
                                     {"answers", server.answers},
                                     {"failures", server.failures},
                                     {"in_flight_max", server.in_flight_max},
                                     {"latency_s", server.latency_s},
                                     {"finding", server.finding}});
    }
    array.push_back(json::object{{"started_at", run.started_unix_s},
                                 {"ended_at", run.ended_unix_s},
                                 {"end", run.end},
                                 {"running_s", run.running_s},
                                 {"rows", run.rows},
                                 {"prompt_tokens", run.prompt_tokens},
                                 {"generated_tokens", run.generated_tokens},
                                 {"retries", run.retries},
                                 {"servers", std::move(servers)}});
  }
  return array;
}

std::vector<RunFigures> read_runs(std::string_view summary) {
  std::vector<RunFigures> runs;
  boost::system::error_code not_json;
  const json::value parsed = json::parse(summary, not_json);
  const json::object* object = not_json ? nullptr : parsed.if_object();
  if (object == nullptr) return runs;
  each_object_in(*object, "runs", [&](const json::object& run) { runs.push_back(run_in(run)); });
  return runs;
}

void load_runs(store::Disk& disk, Summary& summary) {
  summary.runs.clear();
  if (const Result<std::string> text = disk.read_all(summary.files.summary))
    summary.runs = read_runs(*text);
  if (summary.ran()) summary.runs.push_back(figures_of(summary));
  if (summary.runs.size() > kRunsKept) {
    summary.runs.erase(summary.runs.begin(),
                       summary.runs.end() - static_cast<std::ptrdiff_t>(kRunsKept));
  }
}

std::vector<ServerFigures> servers_of(const std::vector<RunFigures>& runs) {
  std::vector<ServerFigures> servers;
  for (const RunFigures& run : runs) {
    for (const ServerFigures& server : run.servers) {
      const auto found = std::ranges::find(servers, server.name, &ServerFigures::name);
      if (found == servers.end()) {
        servers.push_back(server);
        continue;
      }
      ServerFigures sum = server.answers + server.failures > 0 ? server : *found;
      sum.answers = found->answers + server.answers;
      sum.failures = found->failures + server.failures;
      *found = std::move(sum);
    }
  }
  return servers;
}

}  // namespace windrow::report
