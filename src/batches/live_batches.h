// LiveBatches: the batches that have not ended, and how many batches there are. A change of state
// is written to the database before it becomes visible here, so clients never see a state that a
// crash could take back.
//
// BatchService answers clients from it; BatchRunner and BatchStages move the batches on.
// Thread-safe; methods that take a Lock are called with lock() held, which makes several of them
// one step. The lock is held while the database is written, never while rows run. readings() does
// not take it.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "batch/line_source.h"
#include "batches/batch_host.h"
#include "batches/batch_job.h"
#include "batches/batch_progress.h"
#include "batches/batch_record.h"
#include "batches/batch_state.h"
#include "report/progress.h"

namespace windrow::batches {

// One unfinished batch. Guarded by LiveBatches::lock().
struct LiveBatch {
  BatchRecord record;
  std::string note;  // why the batch does not go on; empty: it does

  bool working = false;                      // a thread works on it
  bool running = false;                      // its rows are being answered
  bool interrupted = false;                  // its validation was cut short; its result is void
  std::shared_ptr<BatchJob> job;             // while rows run
  std::shared_ptr<batch::LineSource> lines;  // while it is validated
  std::optional<TimePoint> not_before;       // after a failure
};

using LiveBatchPtr = std::shared_ptr<LiveBatch>;

// How many batches there are in each state and how many rows have ended, for /metrics.
struct BatchReadings {
  std::array<int64_t, kBatchStatuses> by_status = {};
  int64_t rows_completed = 0;  // since the start
  int64_t rows_failed = 0;
};

// Thread-safe. Never waits for the database: the event loop reads it.
class BatchCounters {
 public:
  void add(BatchStatus status, int64_t count = 1) {
    const std::scoped_lock lock(mutex_);
    sums_.by_status.at(static_cast<size_t>(status)) += count;
  }

  // One batch changed its state.
  void moved(BatchStatus from, BatchStatus to) {
    const std::scoped_lock lock(mutex_);
    --sums_.by_status.at(static_cast<size_t>(from));
    ++sums_.by_status.at(static_cast<size_t>(to));
  }

  // The rows of a batch run; the counts of `record` are those of earlier runs.
  void began(const BatchRecord& record, std::shared_ptr<const BatchJob> job) {
    const std::scoped_lock lock(mutex_);
    running_.insert_or_assign(record.number, Running{.record = record, .job = std::move(job)});
  }

  // Takes a reading of each batch whose rows run; call it about once a second.
  void observe() {
    const std::scoped_lock lock(mutex_);
    for (auto& [batch, running] : running_)
      running.progress.observe(running.job->reading());
  }

  // Nothing for a batch whose rows do not run.
  std::optional<BatchProgress> progress(int64_t batch) const {
    const std::scoped_lock lock(mutex_);
    const auto found = running_.find(batch);
    if (found == running_.end()) return std::nullopt;
    return progress_of(found->second);
  }

  // In the order of creation; with `owner` only that key's.
  std::vector<RunningBatch> running(std::optional<std::string_view> owner) const;

  // Its job has ended; what the job counted stays in the sums.
  void ended(int64_t batch) {
    const std::scoped_lock lock(mutex_);
    const auto found = running_.find(batch);
    if (found == running_.end()) return;
    add(found->second, sums_);
    running_.erase(found);
  }

  BatchReadings read() const {
    const std::scoped_lock lock(mutex_);
    BatchReadings readings = sums_;
    for (const auto& [batch, running] : running_)
      add(running, readings);
    return readings;
  }

 private:
  struct Running {
    BatchRecord record;  // as it was when its rows began to run
    std::shared_ptr<const BatchJob> job;
    report::Progress progress = {};
  };

  static BatchProgress progress_of(const Running& running);

  static void add(const Running& running, BatchReadings& readings) {
    const RequestCounts now = running.job->counts();
    readings.rows_completed += now.completed - running.record.counts.completed;
    readings.rows_failed += now.failed - running.record.counts.failed;
  }

  mutable std::mutex mutex_;
  BatchReadings sums_;  // rows: of jobs that have ended
  std::map<int64_t, Running> running_;
};

class LiveBatches {
 public:
  using Lock = std::unique_lock<std::mutex>;
  using Change = std::function<void(BatchRecord&)>;

  // `table`, `clock` and `options` outlive it.
  LiveBatches(BatchTable& table, const Clock& clock, const BatchOptions& options)
      : table_(table), clock_(clock), options_(options) {}

  // Reads the unfinished batches and the counters from the database. Once, before other methods.
  // kIo, kDiskFull; damaged records are reported to BatchOptions::warn.
  Result<void> load();

  Lock lock() const { return Lock(mutex_); }

  // --- with the lock ---

  // By number, which is the order of creation.
  const std::map<int64_t, LiveBatchPtr>& all(const Lock&) const { return batches_; }

  // Null if there is no unfinished batch with this id.
  LiveBatchPtr find(const Lock&, std::string_view id) const;

  // The record is in the database already.
  LiveBatchPtr add(const Lock&, BatchRecord record);

  // Forgets the batch if it has ended.
  void remove_if_ended(const Lock&, const LiveBatch& batch);

  // Writes the batch's next state, with `change` applied, to the database and then here. False if
  // the event changes nothing in this state; an error if the database could not be written, and
  // then nothing has changed.
  Result<bool> apply(const Lock&, LiveBatch& batch, BatchEvent event, const Change& change = {});

  // Takes back apply() after the transaction around it has failed.
  void restore(const Lock&, LiveBatch& batch, const BatchRecord& before);

  // The batch is tried again after BatchOptions::retry_after; its note says why. A new reason is
  // reported to BatchOptions::warn.
  void hold_back(const Lock&, LiveBatch& batch, const Error& error);

  // Ends the pause of hold_back().
  void release(const Lock&, LiveBatch& batch);

  void job_began(const Lock&, LiveBatch& batch, std::shared_ptr<BatchJob> job);
  void job_ended(const Lock&, LiveBatch& batch);

  // The counts of a batch whose rows run. They never go back, even though a restarted job counts
  // nothing until it has read its logs.
  static RequestCounts counts_of(const LiveBatch& batch);

  // Write the counts of one batch whose rows run, or of all of them, to the database, so that a
  // restart does not show lower ones. Failures are ignored: the logs have the same facts.
  void save_counts(const Lock&, LiveBatch& batch);
  void save_all_counts(const Lock&);

  // Batches past BatchState::expires_at stop running rows and are closed.
  void expire_overdue(const Lock&);

  // No batch begins any more. Returns the jobs that run, which the caller stops.
  std::vector<std::shared_ptr<BatchJob>> begin_stop(const Lock&);
  bool is_stopping(const Lock&) const { return stopping_; }

  // notify() wakes the threads that wait for a change of any batch. wait() releases the lock until
  // then, or for `at_most`.
  void notify(const Lock&) { changed_.notify_all(); }
  void wait(Lock& lock) { changed_.wait(lock); }
  void wait(Lock& lock, std::chrono::milliseconds at_most) { changed_.wait_for(lock, at_most); }

  // --- any thread, without the lock ---

  // True if the batch belongs to a key that was revoked. With the lock or without.
  bool lacks_key(const BatchRecord& record) const;

  BatchRecord record_of(const LiveBatch& batch) const;

  // These four return at once, so the thread of the event loop may call them.
  BatchReadings readings() const { return counters_.read(); }
  std::vector<RunningBatch> running(std::optional<std::string_view> owner) const {
    return counters_.running(owner);
  }
  std::optional<BatchProgress> progress(int64_t batch) const { return counters_.progress(batch); }
  void observe_progress() { counters_.observe(); }

 private:
  BatchTable& table_;
  const Clock& clock_;
  const BatchOptions& options_;
  BatchCounters counters_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, LiveBatchPtr> batches_;
  bool stopping_ = false;
};

// The note, for clients, of a batch that this error holds back.
std::string note_of(const Error& error);

}  // namespace windrow::batches
