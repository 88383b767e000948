// Embedder: an EmbeddingLoop on the engine thread, which is the only one that touches models
// (device_thread.h). Everything else hands it work through the inbox and hears back through each
// work's Done.
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

// How many tokens a pass has, and what was measured to find out; `points` is empty while nothing
// was.
struct BudgetReport {
  int32_t batch_tokens = 0;
  std::vector<BudgetPoint> points;
};

// Thread-safe. The destructor cancels what is unfinished and waits until every Done has returned.
class Embedder final : private DeviceTask {
 public:
  // `clock` must outlive the embedder. It begins with measuring the budget, for at most
  // EmbeddingLoop::kSearchTime, unless the options say it. `thread`: whom it shares the engine
  // thread with; null: it has one to itself.
  Embedder(std::unique_ptr<EmbeddingRunner> runner, const Clock& clock,
           EmbeddingOptions options = {}, std::shared_ptr<DeviceThread> thread = nullptr);
  ~Embedder() override;
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

  const EmbeddingLimits& limits() const { return limits_; }

  // Never blocks on the model; the work joins at the next pass. Its tokens take effect between two
  // passes.
  void submit(EmbeddingWork work);

  // As of the last pass.
  llm::BackendStats stats() const;
  BudgetReport budget() const;

 private:
  Next take_turn(const Turn& turn) override;
  Next run_turn(const Turn& turn);
  void end() override;
  std::vector<EmbeddingWork> take_inbox();
  void publish();

  std::unique_ptr<EmbeddingRunner> runner_;
  const EmbeddingLimits limits_;
  EmbeddingLoop loop_;  // the engine thread's

  mutable std::mutex mutex_;
  std::vector<EmbeddingWork> inbox_;  // from other threads, for the engine thread
  llm::BackendStats stats_;
  BudgetReport budget_;

  const std::shared_ptr<DeviceThread> thread_;
  SeatId seat_;
};

}  // namespace windrow::engine
