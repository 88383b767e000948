// Embedder: an EmbeddingLoop as a task of the device thread, which is the only one that touches
// models (device_thread.h). Other threads submit work to its inbox; results come through each
// work's Done, on the device thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "engine/embed/batch_budget.h"
#include "engine/embed/embedding_loop.h"
#include "engine/host/device_thread.h"
#include "engine/host/embedding_runner.h"
#include "llm/backend.h"

namespace windrow::engine {

// How many tokens a pass has, and the measurements behind it; `points` may be empty.
struct BudgetReport {
  int32_t batch_tokens = 0;
  std::vector<BudgetPoint> points;
};

// Thread-safe. The destructor cancels what is unfinished and waits until every Done has returned.
class Embedder final : private DeviceTask {
 public:
  // `clock` must outlive the embedder. It begins with measuring the budget, for at most
  // EmbeddingLoop::kSearchTime, unless the options give it. `thread`: a device thread that it
  // shares; null: it has its own.
  Embedder(std::unique_ptr<EmbeddingRunner> runner, const Clock& clock,
           EmbeddingOptions options = {}, std::shared_ptr<DeviceThread> thread = nullptr);
  ~Embedder() override;
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

  const EmbeddingLimits& limits() const { return limits_; }

  // Queues work for the next pass. Never blocks on the model. The stop tokens of the work take
  // effect between two passes.
  void submit(EmbeddingWork work);

  // As of the last pass.
  llm::BackendStats stats() const;
  BudgetReport budget() const;

 private:
  Next run_pass(const Turn& turn) override;
  Next run_one_pass(const Turn& turn);
  void end() override;
  std::vector<EmbeddingWork> take_inbox();
  void publish();

  std::unique_ptr<EmbeddingRunner> runner_;
  const EmbeddingLimits limits_;
  EmbeddingLoop loop_;  // used by the device thread only

  mutable std::mutex mutex_;
  std::vector<EmbeddingWork> inbox_;  // from other threads, for the device thread
  llm::BackendStats stats_;
  BudgetReport budget_;

  const std::shared_ptr<DeviceThread> thread_;
  TaskId task_;
};

}  // namespace windrow::engine
