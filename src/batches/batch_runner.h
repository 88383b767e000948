// BatchRunner: the threads on which batches move on. One thread looks at the clock and at
// BatchTurns several times a second and starts a worker for each batch that may work; a worker does
// one stage of one batch (BatchStages) and ends.
#pragma once

#include <list>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "batches/batch_stages.h"
#include "batches/batch_turns.h"
#include "batches/live_batches.h"

namespace windrow::batches {

class BatchRunner {
 public:
  // Starts the clock's thread. Everything in `world` outlives it.
  explicit BatchRunner(const BatchStages::World& world);

  // As stop(Duration{}).
  ~BatchRunner();
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;

  // No row starts any more; rows that run may finish within `grace`. Blocks until all threads have
  // ended and everything is on disk. Any thread but a worker; further calls do nothing.
  void stop(Duration grace);

 private:
  using Lock = LiveBatches::Lock;
  using Stage = void (BatchStages::*)(LiveBatch&);
  struct Worker {
    std::thread thread;
    bool ended = false;
  };

  void run();
  void start_what_may(const Lock& lock);
  void interrupt_validation(const Lock& lock, LiveBatch& batch);
  void start(const Lock& lock, const LiveBatchPtr& batch, Stage stage);
  void work(const LiveBatchPtr& batch, Stage stage, Worker& worker);
  void join_ended();

  const BatchStages::World world_;
  BatchStages stages_;

  // Guarded by LiveBatches::lock():
  BatchTurns turns_;
  std::list<Worker> workers_;

  // The clock's thread:
  std::optional<TimePoint> swept_at_;     // expired files were removed
  std::optional<TimePoint> saved_at_;     // counts were written
  std::optional<TimePoint> observed_at_;  // progress was read

  std::thread clock_thread_;  // last: it uses all of the above
};

}  // namespace windrow::batches
