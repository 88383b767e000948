// BatchCounters: how many batches there are in each state and how many rows have ended, for
// /metrics.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "batches/batch_job.h"
#include "batches/batch_record.h"
#include "batches/batch_state.h"

namespace windrow::batches {

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

  // The rows of a batch run; `before` are its counts from earlier runs.
  void began(int64_t batch, std::shared_ptr<const BatchJob> job, const RequestCounts& before) {
    const std::scoped_lock lock(mutex_);
    running_[batch] = {std::move(job), before};
  }

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
    std::shared_ptr<const BatchJob> job;
    RequestCounts before;
  };

  static void add(const Running& running, BatchReadings& readings) {
    const RequestCounts now = running.job->counts();
    readings.rows_completed += now.completed - running.before.completed;
    readings.rows_failed += now.failed - running.before.failed;
  }

  mutable std::mutex mutex_;
  BatchReadings sums_;  // rows: of jobs that have ended
  std::map<int64_t, Running> running_;
};

}  // namespace windrow::batches
