// InputCheck: what a job learns about its input before the first row runs. The pre-scan reads the
// input on a thread of its own while the model loads: it counts rows, and compares those that an
// earlier run finished. --strict reads it once the model is there, and refuses it for any line that
// cannot run. An input that can be read only once is neither counted nor compared in advance.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "batch/input.h"
#include "batch/job_counters.h"
#include "batch/job_files.h"
#include "batch/job_options.h"
#include "batch/line_source.h"
#include "batch/prescan.h"
#include "batch/row_reader.h"

namespace windrow::batch {

class InputCheck {
 public:
  // All arguments outlive it. From begin() to wait(), the index of `files` belongs to it.
  InputCheck(const JobOptions& options, Input& input, const RowReader& reader, JobFiles& files,
             JobCounters& counters);

  // As interrupt(), and ends the thread.
  ~InputCheck();
  InputCheck(const InputCheck&) = delete;
  InputCheck& operator=(const InputCheck&) = delete;

  // Starts the pre-scan; once. kNotFound, kIo: the input cannot be read.
  Result<void> begin();

  // Any thread, without blocking: why the job is going to refuse the input, as soon as the pre-scan
  // knows; nothing while it does not.
  std::optional<Error> refusal() const;

  // Why a job with results refuses an input without a row.
  Error emptied_error() const;

  // --strict: why the model could not answer a request, or nothing; may be empty.
  using Check = RowCheck;

  // --strict: called for every line that cannot run; may be empty. Then the error of wait() names
  // the first 20.
  using OnFault = std::function<void(const RowFault&)>;

  // Blocks until everything is known that must be known before the first row runs. False when it
  // was interrupted. Fails with the reason of refusal(), or of --strict. Called on the thread that
  // runs the job, which also calls `check` and `on_fault`.
  Result<bool> wait(const Check& check, const OnFault& on_fault);

  // Whether JobCounters::rows_before is set; after wait().
  bool before_known() const { return before_known_; }

  // Whether an earlier run left outcomes with which rows are compared.
  bool compares() const { return compares_; }

  // Any thread: the check ends soon, and what it has counted is not used.
  void interrupt();

  // The rows have ended: interrupts a pre-scan that still counts, and waits for its thread.
  void end();

 private:
  void prescan();
  Result<bool> check_strictly(const Check& check, const OnFault& on_fault);
  void count_before(const Prescan& prescan);
  bool interrupted() const;

  const JobOptions& options_;
  Input& input_;
  const RowReader& reader_;
  JobFiles& files_;
  JobCounters& counters_;
  const bool compares_;
  bool before_known_ = false;

  mutable std::mutex mutex_;
  // Under the mutex:
  std::unique_ptr<LineSource> lines_;
  std::optional<Prescan> prescan_;
  bool interrupted_ = false;

  std::thread thread_;
};

}  // namespace windrow::batch
