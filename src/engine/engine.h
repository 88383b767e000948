// Engine: a StepLoop on a thread of its own, which is the only one that touches the model.
// Everything else hands it work through the inbox and hears back through each request's Done.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/model_runner.h"
#include "engine/step_loop.h"
#include "engine/vocabulary.h"
#include "llm/backend.h"

namespace windrow::engine {

// Thread-safe. The destructor cancels what is unfinished and joins the thread.
class Engine {
 public:
  // `vocabulary` and `clock` must outlive the engine.
  Engine(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary, const Clock& clock,
         StepLoopOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const RunnerLimits& limits() const { return limits_; }

  // Never blocks on the model; the rows join at the next step, all of them at once.
  void submit(std::vector<EngineRequest> rows);

  // Take effect between two steps.
  void cancel_waiting();
  void cancel_all();

  // As of the last step; a row whose Done is called is counted.
  llm::BackendStats stats() const;

 private:
  // What other threads want of the engine thread.
  struct Inbox {
    std::vector<EngineRequest> rows;
    bool cancel_waiting = false;
    bool cancel_all = false;
    bool close = false;

    bool empty() const { return rows.empty() && !cancel_waiting && !cancel_all && !close; }
  };

  void run();
  Inbox take_inbox(bool wait);

  std::unique_ptr<ModelRunner> runner_;
  const RunnerLimits limits_;
  StepLoop loop_;  // the engine thread's, once it runs

  mutable std::mutex mutex_;
  std::condition_variable inbox_filled_;
  Inbox inbox_;
  llm::BackendStats stats_;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace windrow::engine
