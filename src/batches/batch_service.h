// BatchService: the batches of a server: clients create, read and cancel them, and they run beside
// the server's other requests until every row has a result, a client cancels or the time is over.
// They continue after any end of the process.
//
// Methods may be called on any thread but the event loop, because they may wait for the disk; none
// waits for rows. readings() and running() alone do not block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "batches/batch_host.h"
#include "batches/batch_record.h"
#include "batches/batch_runner.h"
#include "batches/data_dir.h"
#include "batches/file_store.h"
#include "batches/live_batches.h"
#include "batches/reply.h"
#include "dispatch/models.h"
#include "store/disk.h"

namespace windrow::batches {

// A batch as it is now, with the reason if it does not go on.
struct BatchView {
  BatchRecord record;
  std::string note;
  std::optional<BatchProgress> progress = std::nullopt;  // while its rows run
};

struct BatchPage {
  std::vector<BatchView> batches;
  bool has_more = false;
};

class BatchService {
 public:
  // Reads the unfinished batches. All arguments outlive the service. kIo, kDiskFull, kInvalid.
  static Result<std::unique_ptr<BatchService>> open(DataDir& data, FileStore& files,
                                                    store::Disk& disk, const Clock& clock,
                                                    BatchOptions options);

  // As stop(Duration{}).
  ~BatchService();
  BatchService(const BatchService&) = delete;
  BatchService& operator=(const BatchService&) = delete;

  // Begins to run batches; until then they can be created, and wait. Once. `models` outlives the
  // service.
  void start(dispatch::Models& models);

  // A repeated Idempotency-Key of one owner returns the batch that it made before, or 400 if that
  // request was another one. 400 for an input file that cannot be used, 429 if too many batches
  // have not ended, 500 or 507 for the server's own disk.
  Reply<BatchView> create(const Viewer& owner, const BatchRequest& request,
                          const std::string& idempotency_key);

  // 404 if there is no such batch or the viewer may not see it.
  Reply<BatchView> get(const Viewer& viewer, std::string_view id);

  // Newest first. 400 for a limit out of range or a cursor that the viewer cannot see.
  Reply<BatchPage> list(const Viewer& viewer, const BatchQuery& query);

  // The batch stops and becomes cancelled; rows that run may finish. 400 if it has ended already,
  // or is about to, in another way; 404 as get().
  Reply<BatchView> cancel(const Viewer& viewer, std::string_view id);

  BatchReadings readings() const { return live_.readings(); }

  // The batches whose rows run; with `owner` only that key's.
  std::vector<RunningBatch> running(std::optional<std::string_view> owner) const {
    return live_.running(owner);
  }

  // No row starts any more; rows that run may finish within `grace`. Blocks until everything is on
  // disk. Unfinished batches continue after the next start.
  void stop(Duration grace);

 private:
  BatchService(DataDir& data, FileStore& files, store::Disk& disk, const Clock& clock,
               BatchOptions options);

  std::string awaited_model(const BatchRecord& record) const;
  BatchView view(const LiveBatches::Lock& lock, const LiveBatch& batch) const;
  std::optional<llm::Failure> refuse_more(const LiveBatches::Lock& lock, const Viewer& owner) const;
  std::optional<llm::Failure> check_input(const Viewer& owner, const BatchRequest& request);

  DataDir& data_;
  FileStore& files_;
  store::Disk& disk_;
  const Clock& clock_;
  const BatchOptions options_;
  BatchTable table_;
  LiveBatches live_;
  dispatch::Models* models_ = nullptr;  // under live_.lock(); null before start()
  std::unique_ptr<BatchRunner> runner_;
};

}  // namespace windrow::batches
