// BatchJob: runs the rows of one batch into its logs with batch::JobRunner: the models answer them
// or, once the batch's time is over, each gets the error batch_expired. It may run repeatedly; rows
// that have a result are skipped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "batch/failure_kinds.h"
#include "batch/job_counters.h"
#include "batch/job_options.h"
#include "batch/job_runner.h"
#include "batch/row_dialect.h"
#include "batch/salvage_logs.h"
#include "batches/batch_host.h"
#include "batches/batch_record.h"
#include "batches/data_dir.h"
#include "dispatch/models.h"
#include "llm/request_json.h"
#include "report/progress.h"
#include "store/disk.h"

namespace windrow::batches {

enum class RowsEnd : uint8_t {
  kAll,      // every row has a result
  kStopped,  // by stop()
  kPaused,   // no upstream is reachable: the other rows run later
};

class BatchJob {
 public:
  // All of it outlives the job. `warn` gets messages about damaged logs.
  struct World {
    store::Disk& disk;
    const Clock& clock;
    const DataDir& data;
    std::function<void(const std::string&)> warn;
    BatchKeys* keys = nullptr;  // null: batches belong to no key
    llm::UnknownFields unknown_fields = llm::UnknownFields::kRefuse;
    batch::RowApis apis = {};
  };

  // `input` is the path of its file, for DataDir::at.
  BatchJob(World world, BatchRecord record, std::string input);
  ~BatchJob();
  BatchJob(const BatchJob&) = delete;
  BatchJob& operator=(const BatchJob&) = delete;

  // Block until the rows have ended or stop() took effect. One of them at a time. kUnavailable: a
  // model does not exist or cannot answer any more; else as JobRunner.
  Result<RowsEnd> run(dispatch::Models& models);
  Result<RowsEnd> run_expired();

  // Any thread, at any time, also before it runs. After stop() the rows in flight may finish, after
  // stop_now() they are cancelled. Neither blocks.
  void stop();
  void stop_now();

  // Rows with a result, earlier runs included. Any thread.
  RequestCounts counts() const;

  // Their tokens, and how rows failed, in earlier runs too. Any thread.
  BatchUsage usage() const;
  std::vector<batch::FailureKind> failures() const;

  // What report::Progress makes rates of. Any thread.
  report::ProgressReading reading() const;

  // True while rows wait for tokens of their key. Any thread.
  bool waits_for_tokens() const { return waits_for_tokens_; }

 private:
  class KeyedSubmitter;

  Result<RowsEnd> run(batch::JobOptions options, std::span<const batch::ModelRoute> routes,
                      const batch::RunHooks& hooks);
  Result<RowsEnd> run_once(batch::JobOptions options, batch::Input& input,
                           std::span<const batch::ModelRoute> routes, batch::RunHooks hooks,
                           bool& refused);
  Result<void> read_earlier_runs(const std::string& results);
  std::string salvage_message(const batch::Salvage& salvage) const;
  batch::JobOptions options() const;

  const World world_;
  const BatchRecord record_;
  const std::string input_;

  std::atomic<bool> waits_for_tokens_ = false;

  mutable std::mutex mutex_;
  // Under it:
  batch::JobRunner* runner_ = nullptr;  // while it runs
  std::shared_ptr<batch::JobCounters> counters_;
  BatchUsage usage_before_;  // of earlier runs, from the logs
  std::vector<batch::FailureKind> failures_before_;
  bool stopped_ = false;
  bool stopped_now_ = false;
};

// What the logs of a batch add up to.
struct BatchTally {
  std::vector<batch::FailureKind> failures;
  int64_t completed = 0;
  int64_t failed = 0;
  BatchUsage usage;
  int64_t odd = 0;            // lines that no job wrote
  int64_t results_bytes = 0;  // of complete lines
  int64_t errors_bytes = 0;
};

// Reads both logs; a missing log is empty, and lines that no job wrote are skipped. kIo.
Result<BatchTally> tally(store::Disk& disk, const std::string& results, const std::string& errors);

}  // namespace windrow::batches
