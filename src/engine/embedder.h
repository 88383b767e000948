// Embedder: an EmbeddingLoop on a thread of its own, which is the only one that touches the model.
// Everything else hands it work through the inbox and hears back through each work's Done.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/batch_budget.h"
#include "engine/embedding_loop.h"
#include "engine/embedding_runner.h"
#include "llm/backend.h"

namespace windrow::engine {

// How many tokens a pass has, and what was measured to find out; `points` is empty while nothing
// was.
struct BudgetReport {
  int32_t batch_tokens = 0;
  std::vector<BudgetPoint> points;
};

// Thread-safe. The destructor cancels what is unfinished and joins the thread.
class Embedder {
 public:
  // `clock` must outlive the embedder. It begins with measuring the budget, for at most
  // EmbeddingLoop::kSearchTime, unless `batch_tokens` says it.
  Embedder(std::unique_ptr<EmbeddingRunner> runner, const Clock& clock,
           std::optional<int32_t> batch_tokens);
  ~Embedder();
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

  const EmbeddingLimits& limits() const { return limits_; }

  // Never blocks on the model; the work joins at the next pass.
  void submit(EmbeddingWork work);

  // Take effect between two passes.
  void cancel_waiting();
  void cancel_all();

  // As of the last pass.
  llm::BackendStats stats() const;
  BudgetReport budget() const;

 private:
  // What other threads want of the embedder's.
  struct Inbox {
    std::vector<EmbeddingWork> works;
    bool cancel_waiting = false;
    bool cancel_all = false;
    bool close = false;

    bool empty() const { return works.empty() && !cancel_waiting && !cancel_all && !close; }
  };

  void run();
  Inbox take_inbox(bool wait);

  std::unique_ptr<EmbeddingRunner> runner_;
  const EmbeddingLimits limits_;
  EmbeddingLoop loop_;  // the embedder thread's, once it runs

  mutable std::mutex mutex_;
  std::condition_variable inbox_filled_;
  Inbox inbox_;
  llm::BackendStats stats_;
  BudgetReport budget_;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace windrow::engine
