// Engine: a StepLoop on the engine thread, which is the only one that touches models
// (device_thread.h). Everything else hands it work through the inbox and hears back through each
// request's Done.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "engine/generate/step_loop.h"
#include "engine/host/device_thread.h"
#include "engine/host/model_runner.h"
#include "engine/host/vocabulary.h"
#include "llm/backend.h"

namespace windrow::engine {

// How rows come into an engine in which nothing runs. Rows join at any step, so waiting for company
// gains nothing; it is there for those who want it.
struct StartWindow {
  Duration window{};  // that long after the first of them; 0: at once
  int32_t rows = 0;   // so many end it; 0: as many as a step may have
};

// Thread-safe. The destructor cancels what is unfinished and waits until every Done has returned.
class Engine final : private DeviceTask {
 public:
  // `vocabulary` and `clock` must outlive the engine. `thread`: whom it shares the engine thread
  // with; null: it has one to itself.
  Engine(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary, const Clock& clock,
         StepLoopOptions options = {}, std::shared_ptr<DeviceThread> thread = nullptr,
         const StartWindow& start = {});
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const RunnerLimits& limits() const { return limits_; }

  // Never blocks on the model; the rows join at the next step, all of them at once. Their tokens
  // take effect between two steps.
  void submit(std::vector<EngineRequest> rows);

  // As of the last step; a row whose Done is called is counted.
  llm::BackendStats stats() const;

 private:
  Next take_turn(const Turn& turn) override;
  Next run_turn(const Turn& turn);
  void end() override;
  std::vector<EngineRequest> take_inbox();
  std::optional<TimePoint> window_end() const;

  const Clock& clock_;
  const StartWindow start_;
  std::unique_ptr<ModelRunner> runner_;
  const RunnerLimits limits_;
  StepLoop loop_;     // the engine thread's
  bool idle_ = true;  // the engine thread's: the loop had nothing to run

  mutable std::mutex mutex_;
  std::vector<EngineRequest> inbox_;  // from other threads, for the engine thread
  TimePoint first_row_at_;            // when the first of these came
  llm::BackendStats stats_;

  const std::shared_ptr<DeviceThread> thread_;
  SeatId seat_;
};

}  // namespace windrow::engine
