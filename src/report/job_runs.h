// JobRuns: the runs of one job, as the summary file keeps them, so that a report covers the job and
// not its last run. A run that was killed is not among them: it wrote no summary.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/disk.h"

namespace windrow::report {

struct Summary;

// What one run asked of one server.
struct ServerFigures {
  std::string name;
  int64_t answers = 0;
  int64_t failures = 0;
  int32_t in_flight_max = 0;  // its in-flight window at the end
  double latency_s = 0;       // of its last answers
  std::string finding;        // "saturates at 16 in flight"

  friend bool operator==(const ServerFigures&, const ServerFigures&) = default;
};

struct RunFigures {
  int64_t started_unix_s = 0;
  int64_t ended_unix_s = 0;
  std::string end;  // to_string(RunEnd)
  double running_s = 0;
  int64_t rows = 0;  // with an outcome, of this run
  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;
  int64_t retries = 0;
  std::vector<ServerFigures> servers;

  friend bool operator==(const RunFigures&, const RunFigures&) = default;
};

RunFigures figures_of(const Summary& summary);

boost::json::array runs_to_json(const std::vector<RunFigures>& runs);

// The runs that a summary file names; none if it names none.
std::vector<RunFigures> read_runs(std::string_view summary);

// Sets Summary::runs: those of the summary file at its place, and this one if rows ran. At most the
// last kRunsKept.
inline constexpr size_t kRunsKept = 100;
void load_runs(store::Disk& disk, Summary& summary);

// Each server once: sums over the runs, and the rest from the last run that asked it.
std::vector<ServerFigures> servers_of(const std::vector<RunFigures>& runs);

}  // namespace windrow::report
