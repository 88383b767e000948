// BatchStages: what happens to one batch on its worker thread: its input is validated, its rows are
// run, and in the end its files are made. BatchRunner decides when.
//
// Each method blocks for as long as its stage takes and leaves the batch in its next state, or held
// back with a note (LiveBatches::hold_back). A stage that is interrupted or stopped leaves the
// batch where it was. One thread at a time for each batch, any number of batches at a time.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "batches/batch_host.h"
#include "batches/batch_job.h"
#include "batches/data_dir.h"
#include "batches/file_store.h"
#include "batches/live_batches.h"
#include "dispatch/models.h"
#include "store/disk.h"

namespace windrow::batches {

class BatchStages {
 public:
  // What the stages work with. All of it outlives them.
  struct World {
    DataDir& data;
    FileStore& files;
    store::Disk& disk;
    const Clock& clock;
    const BatchOptions& options;
    dispatch::Models& models;
    LiveBatches& live;
  };

  explicit BatchStages(const World& world) : world_(world) {}

  // Checks every line of the input: the batch becomes in_progress or failed.
  void validate(LiveBatch& batch);

  // Runs the rows that have no result: the batch becomes finalizing.
  void run_rows(LiveBatch& batch);

  // Makes files of the logs: the batch becomes completed, expired or cancelled.
  void close(LiveBatch& batch);

 private:
  Result<void> check_input(LiveBatch& batch);
  Result<void> fail_without_input(LiveBatch& batch, const Error& error);
  Result<RowsEnd> answer_rows(LiveBatch& batch, std::shared_ptr<BatchJob>& job);
  Result<BatchTally> finish_logs(LiveBatch& batch, const BatchRecord& record, bool& stopped);
  Result<bool> end_rows(LiveBatch& batch, const BatchRecord& record);
  Result<void> make_files(LiveBatch& batch, const BatchTally& sums);
  Result<StoredFile> input_of(const BatchRecord& record);
  std::shared_ptr<BatchJob> make_job(const BatchRecord& record, const std::string& input) const;

  const World world_;
};

}  // namespace windrow::batches
