// JobFiles: the output of a job as an earlier run left it: locked, read, compared, and not yet
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
#include "batch/put_aside.h"
#include "batch/quarantine.h"
#include "batch/result_log.h"
#include "batch/row_index.h"
#include "store/disk.h"

namespace windrow::batch {

// What was on disk when the job was opened.
struct JobStart {
  bool resumed = false;        // at least one outcome was there that stays
  int64_t results_before = 0;  // lines of the results file, whether or not the input still has them
  int64_t errors_before = 0;   // rows that failed and do not run again
  int64_t retried = 0;         // rows that failed and do
  int64_t torn_bytes = 0;      // at the ends of the logs: rows that were being written
  int64_t began_unix_s = 0;    // when the job began: what its prompts take for today
  std::vector<std::string> put_aside;  // new names of files that run() moves away first

  // Lines of the logs that run() takes out first, as they are none of ours; the first of them.
  int64_t quarantined = 0;
  std::string quarantined_first;

  // Rows with a result that the last run counted, where that is more than results_before.
  int64_t results_counted = 0;
};

struct JobFiles {
  JobPaths paths;
  std::unique_ptr<store::FileLock> lock;

  // Of the results themselves, whatever names lead to them; null while there are none.
  std::unique_ptr<store::FileLock> results_lock;
  JobStart start;
  RowIndex index;

  uint64_t results_bytes = 0;  // up to which the logs are whole
  uint64_t errors_bytes = 0;
  uint64_t results_torn = 0;  // and what stood behind that when they were read
  uint64_t errors_torn = 0;
  bool unsettled = false;           // the errors hold lines that count no more
  std::vector<Move> moves;          // to do before anything is written
  Quarantine quarantine;            // likewise
  std::optional<JobRecord> record;  // of the earlier run, when it left results
};

// The errors of JobRunner::open that concern files. Only the lock file is made.
Result<JobFiles> open_job_files(const JobOptions& options, store::Disk& disk);

// Changes what must change before rows run: kConflict when `settings`, which are all there are,
// differ from those of the record; else moves files away, writes the record, takes out lines that
// are none of ours, cuts torn ends.
Result<ResultLog> begin_job_files(JobFiles& files, const JobRecord& record, store::Disk& disk);

}  // namespace windrow::batch
