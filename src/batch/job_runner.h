// JobRunner: one run of a job, from the lines of an input to results on disk. open() takes the lock
// on the output, reads the files of an earlier run and starts the pre-scan of the input, so that
// this happens while the model loads; run() then does the work.
//
//   reader thread     lines -> rows, finished ones skipped -> planned rows (bounded in bytes)
//   submitter thread  planned rows, those with a common prefix together -> Dispatcher::submit
//   backend's thread  outcome -> queue (bounded in bytes)
//   writer thread     all outcomes queued -> one append and one sync per file -> the rows count
//   run()'s thread    waits for these in that order, then puts the logs in order if asked to
//
// Invariants:
//   a row counts as done only after its line was synced;
//   a log never has two lines of one row, nor half a line before its last whole one;
//   the logs alone decide what is done: progress is recorded nowhere else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "batch/failure_watch.h"
#include "batch/input.h"
#include "batch/job_counters.h"
#include "batch/job_files.h"
#include "batch/job_options.h"
#include "batch/job_paths.h"
#include "dispatch/budget.h"
#include "dispatch/submitter.h"
#include "llm/answer.h"
#include "llm/request.h"
#include "store/disk.h"

namespace windrow::batch {

// The disk, clock and input of a job. They outlive the JobRunner.
struct JobEnvironment {
  store::Disk& disk;
  const Clock& clock;
  Input& input;
};

// The dispatcher that answers the rows of a model. It outlives run(); after a run that did not come
// to its end it admits nothing more.
struct ModelRoute {
  std::string name;  // one of JobOptions::models; with any_model there is one route for all names
  dispatch::Submitter* dispatcher = nullptr;
};

// A line that --strict refuses.
struct LineFault {
  uint64_t line = 0;      // counted from 1, blank lines included
  std::string custom_id;  // empty when the line has none that can be used
  llm::Failure failure;
};

// Options of run(); every member may stay as it is.
struct RunHooks {
  // Settings that are known only now that the model is loaded (a context size chosen to fit). They
  // follow JobOptions::settings in the job record and are compared in the same way.
  std::vector<JobSetting> late_settings;

  // --strict: why the model could not answer this request (a prompt longer than the context), or
  // nothing. Called on run()'s thread, row by row.
  std::function<std::optional<llm::Failure>(const llm::Request&)> check;

  // Called before each row is submitted, on the submitter's thread; may submit other requests.
  std::function<void(const llm::Request&)> before_row;

  // Returns the upstreams that have a model (WorkItem::upstreams). Called on the submitter's
  // thread.
  std::function<uint64_t(const std::string& model)> upstreams_of;

  // Returns the highest cost of a request, where costs are limited; with a Failure its row ends
  // unsent. Called on the submitter's thread.
  std::function<std::variant<dispatch::Cost, llm::Failure>(const llm::Request&)> expected_cost;

  // --strict: called on run()'s thread for every offending line, in the order of the input, before
  // run() fails. Without it the error message lists the first 20.
  std::function<void(const LineFault&)> on_fault;
};

enum class JobEnd : uint8_t {
  kCompleted,          // every row of the input has a result
  kInterrupted,        // stop() came first; the same command continues
  kStoppedByFailures,  // as JobOptions::failure_limit demands; see JobReport::failure_stop
};

// A row that failed in an earlier run and that the input does not have any more.
struct GoneRow {
  uint64_t line = 0;      // where it was
  std::string custom_id;  // empty when it could not be named
};

// How a run ended; JobCounters has the rest.
struct JobReport {
  JobEnd end = JobEnd::kCompleted;
  int64_t rows_succeeded = 0;  // of the rows considered, with those of earlier runs
  int64_t rows_failed = 0;
  bool ordered = false;  // the logs are in the order of the input

  // Set where failures stopped the job.
  std::optional<FailureStop> failure_stop;

  // With JobOptions::retry_failed, once the whole input was read: failed rows that are not in it
  // any more, the first kNamedMax and their number. Their lines stay in the errors.
  std::vector<GoneRow> gone;
  int64_t rows_gone = 0;

  // With UnknownFields::kIgnore: the fields that were left out, and in how many rows of this run;
  // at most kIgnoredNamesMax names.
  std::map<std::string, int64_t> ignored_fields;
};

class JobRunner {
 public:
  // Changes no file but the lock's; run() does. Fails with
  //   kInvalid   the options or the output path cannot be used; --strict on an input that can be
  //              read only once; a file at the output path that Windrow did not write
  //   kNotFound  the input, or the output's folder
  //   kConflict  another process holds the output; settings differ from those of the earlier run
  //              (each named, old -> new); the job record is gone but results are there
  //   kDiskFull, kIo
  // `counters` outlives the runner and is set from the start, also when this fails.
  static Result<std::unique_ptr<JobRunner>> open(JobOptions options, JobEnvironment environment,
                                                 JobCounters& counters);

  // Releases the locks. Not while run() is in progress.
  virtual ~JobRunner() = default;

  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  virtual const JobPaths& paths() const = 0;
  virtual const JobStart& start() const = 0;

  // Any thread, at any time, without blocking: why run() will refuse the job, as soon as the
  // pre-scan knows it; until then nothing. Saves loading a model in vain.
  virtual std::optional<Error> refusal() const = 0;

  // Does the job; once per runner, on the thread that calls it. Fails with
  //   kInvalid      the input ends in the middle of its compressed data (every whole line before
  //                 that was run); --strict found offending lines
  //   kConflict     rows that have a result changed, each named up to 20; late settings differ
  //                 from those of the earlier run; another program removed, renamed or cut a log
  //                 while it was written
  //   kDiskFull, kIo  the message says what is safe; the same command continues
  //   kUnavailable, kNoSpace  the backend cannot answer any more
  // Results that came before a failure are on disk, and the logs are valid.
  virtual Result<JobReport> run(std::span<const ModelRoute> routes, RunHooks hooks) = 0;

  // Any thread, at any time, also before run(); returns at once. stop(): no more rows start, and
  // running ones may finish within the grace. stop_now(): those are cancelled too. run() then
  // returns kInterrupted once all outcomes are on disk.
  virtual void stop() = 0;
  virtual void stop_now() = 0;

 protected:
  JobRunner() = default;
};

// 0 all rows succeeded, 1 some failed, 2 the command or its input or output is unusable, 3 the
// model or backend is unusable, 5 stopped by failures, 130 interrupted.
int exit_code(const Result<JobReport>& result);

}  // namespace windrow::batch
