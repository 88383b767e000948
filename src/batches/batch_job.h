// BatchJob: the rows of one batch, run by batch::JobRunner into its logs: answered by the models,
// or, when its time is over, each told so. It may be run again and again; what has a result is
// passed over.
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
#include "batch/job_counters.h"
#include "batch/job_options.h"
#include "batch/job_runner.h"
#include "batch/row_dialect.h"
#include "batch/salvage_logs.h"
#include "batches/batch_host.h"
#include "batches/batch_record.h"
#include "batches/data_dir.h"
#include "llm/request_json.h"
#include "store/disk.h"

namespace windrow::batches {

enum class RowsEnd : uint8_t {
  kAll,      // every row has a result
  kStopped,  // stop() came first
  kPaused,   // whoever answers cannot be reached: the rest runs later
};

class BatchJob {
 public:
  // Everything outlives it. `warn` is told of what was damaged and put aside.
  struct World {
    store::Disk& disk;
    const Clock& clock;
    const DataDir& data;
    std::function<void(const std::string&)> warn;
    BatchKeys* keys = nullptr;  // null: batches belong to nobody
    llm::UnknownFields unknown_fields = llm::UnknownFields::kRefuse;
    batch::RowApis apis = {};
  };

  // `input`: the place of its file.
  BatchJob(World world, BatchRecord record, std::string input);
  ~BatchJob();
  BatchJob(const BatchJob&) = delete;
  BatchJob& operator=(const BatchJob&) = delete;

  // Blocks until the rows have ended; one of them at a time. kUnavailable: a model is not there, or
  // can answer nothing any more; else as JobRunner.
  Result<RowsEnd> run(BatchModels& models);
  Result<RowsEnd> run_expired();

  // Any thread, at any time, also before it runs. Rows that run may finish; stop_now ends them too.
  void stop();
  void stop_now();

  // Rows with a result, those of earlier runs included. Any thread.
  RequestCounts counts() const;

  // Its rows wait for tokens of their key. Any thread.
  bool waits_for_tokens() const { return waits_for_tokens_; }

 private:
  class Rows;

  Result<RowsEnd> run(batch::JobOptions options, std::span<const batch::ModelRoute> routes,
                      const batch::RunHooks& hooks);
  Result<RowsEnd> run_once(batch::JobOptions options, batch::Input& input,
                           std::span<const batch::ModelRoute> routes, batch::RunHooks hooks,
                           bool& refused);
  std::string said_of(const batch::Salvage& salvage) const;
  batch::JobOptions options() const;

  const World world_;
  const BatchRecord record_;
  const std::string input_;

  std::atomic<bool> waits_for_tokens_ = false;

  mutable std::mutex mutex_;
  // Under it:
  batch::JobRunner* runner_ = nullptr;  // while it runs
  std::shared_ptr<batch::JobCounters> counters_;
  bool stopped_ = false;
  bool stopped_now_ = false;
};

}  // namespace windrow::batches
