// JobFiles: the files of a job as an earlier run left them: locked, read and compared, but not yet
// changed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "batch/job_options.h"
#include "batch/job_paths.h"
#include "batch/job_record.h"
#include "batch/quarantine.h"
#include "batch/result_log.h"
#include "batch/row_index.h"
#include "store/disk.h"

namespace windrow::batch {

// What was on disk when the job was opened.
struct JobStart {
  bool resumed = false;        // at least one earlier outcome stays
  int64_t results_before = 0;  // lines of the results file, whether or not the input still has them
  int64_t errors_before = 0;   // failed rows that do not run again
  int64_t retried = 0;         // failed rows that run again
  int64_t torn_bytes = 0;      // at the ends of the logs: lines that were not completed
  int64_t began_unix_s = 0;    // when the job began: the date for its prompts
  std::vector<std::string> moved;  // new names of files that run() moves away first

  // Log lines that Windrow did not write, which run() quarantines first; and the first of them.
  int64_t quarantined = 0;
  std::string quarantined_first;

  // The rows with a result that the last run counted, where that is more than results_before.
  int64_t results_counted = 0;
};

struct JobFiles {
  JobPaths paths;
  std::unique_ptr<store::FileLock> lock;

  // Of the results file itself, whatever its name; null while there is none.
  std::unique_ptr<store::FileLock> results_lock;
  JobStart start;
  RowIndex index;

  uint64_t results_bytes = 0;  // of the whole lines of each log
  uint64_t errors_bytes = 0;
  uint64_t results_torn = 0;  // of the torn line behind them
  uint64_t errors_torn = 0;
  bool unsettled = false;           // the errors file has lines that no longer count
  std::vector<Move> moves;          // to be done before anything is written
  Quarantine quarantine;            // to be taken out before anything is written
  std::optional<JobRecord> record;  // of the earlier run, when it left results
};

// Takes the locks and reads the files. Creates only the lock file. Fails with those errors of
// JobRunner::open that concern files.
Result<JobFiles> open_job_files(const JobOptions& options, store::Disk& disk);

// Prepares the files for the first row: moves old files away, writes the record, quarantines lines,
// cuts torn ends. kConflict, and nothing is changed, when the settings in `record`, which are now
// complete, differ from those of the earlier run. kDiskFull, kIo.
Result<ResultLog> begin_job_files(JobFiles& files, const JobRecord& record, store::Disk& disk);

}  // namespace windrow::batch
