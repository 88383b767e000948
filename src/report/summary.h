// Summary: the result of a run, as a table and a page for people, and as results.summary.json for
// programs.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "batch/job_paths.h"
#include "dispatch/dispatcher.h"
#include "llm/backend.h"
#include "report/failure_counts.h"
#include "report/job_runs.h"
#include "report/upstream_figures.h"
#include "store/disk.h"

namespace windrow::report {

class LogTally;
class ThroughputHistory;

enum class RunEnd : uint8_t {
  kCompleted,    // every row has a result
  kInterrupted,  // by a signal; the same command continues
  kFailed,       // see Summary::error
};

std::string_view to_string(RunEnd end);

// One setting as the run used it.
struct SummarySetting {
  std::string name;
  boost::json::value value;
  std::string source;  // "default", "windrow.toml:3"
};

struct Summary {
  std::string version;  // of Windrow
  std::string runtime;  // the library and device that computed
  RunEnd end = RunEnd::kCompleted;
  std::string error;  // why the run failed, else empty
  int32_t exit_code = 0;

  std::string input;
  batch::JobPaths files;
  std::string report;  // empty: none
  std::string retry;   // how failed rows are run again; empty: with windrow retry
  bool ordered = false;

  int64_t started_unix_s = 0;
  int64_t ended_unix_s = 0;
  Duration loading{};  // until the model was ready
  Duration running{};  // from there to the last row

  // Rows of the whole job, those of earlier runs included.
  int64_t rows_total = -1;  // -1: the input was not read to its end
  int64_t rows_succeeded = 0;
  int64_t rows_failed = 0;
  std::vector<FailureCount> failures;

  // --- this run ---
  int64_t rows_before = 0;  // had a result already
  int64_t rows_this_run = 0;
  int64_t attempts = 0;
  int64_t prompt_tokens = 0;      // of the rows that succeeded
  int64_t completion_tokens = 0;  // of the rows that succeeded
  llm::BackendStats backend;
  std::vector<llm::UpstreamStatus> upstreams;
  dispatch::DispatchCounts dispatch;

  // Of the job, the last one at the end; set by load_runs().
  std::vector<RunFigures> runs;

  std::vector<SummarySetting> settings;

  // Whether a row ran. None does where all have a result already.
  bool ran() const { return rows_this_run > 0 || attempts > 0; }

  int64_t rows_left() const {
    return rows_total < 0 ? -1 : rows_total - rows_succeeded - rows_failed;
  }
};

boost::json::object summary_to_json(const Summary& summary);

// A table of two columns, each line with its end.
std::string summary_to_text(const Summary& summary);

// results.summary.json, whole or not at all. Where no row ran, the figures of the run before are
// kept, and only how the job stands is new. kDiskFull, kIo.
Result<void> write_summary(store::Disk& disk, const Summary& summary);

// One HTML page that needs nothing else, for a browser or an attachment: the whole job as far as
// `logs` and Summary::runs tell, and charts of `history`, the last run. Null `logs`: they could not
// be read. All texts are escaped; invalid UTF-8 in them is repaired. Pure; report_html.cc.
std::string report_html(const Summary& summary, const ThroughputHistory& history,
                        const LogTally* logs);

}  // namespace windrow::report
