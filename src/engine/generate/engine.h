// Engine: a StepLoop as a task of the device thread, which is the only one that touches models
// (device_thread.h). Other threads submit rows to its inbox; answers come through each row's Done,
// on the device thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/generate/prefix_holds.h"
#include "engine/generate/step_loop.h"
#include "engine/host/device_thread.h"
#include "engine/host/model_runner.h"
#include "engine/host/vocabulary.h"
#include "llm/backend.h"

namespace windrow::engine {

// How long an idle engine waits for more rows before its first step. Rows join at any step, so this
// gains nothing by itself; it is an option (--batch-window-ms).
struct StartWindow {
  Duration window{};  // after the first row; 0: none
  int32_t rows = 0;   // so many rows end it; 0: as many as a step may have
};

// Thread-safe. The destructor cancels what is unfinished and waits until every Done has returned.
class Engine final : private DeviceTask {
 public:
  // `vocabulary` and `clock` must outlive the engine. `thread`: a device thread that it shares;
  // null: it has its own.
  Engine(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary, const Clock& clock,
         StepLoopOptions options = {}, std::shared_ptr<DeviceThread> thread = nullptr,
         const StartWindow& start = {});
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const RunnerLimits& limits() const { return limits_; }

  // Queues rows, which join together at the next step. Never blocks on the model. The rows' stop
  // tokens take effect between two steps.
  void submit(std::vector<EngineRequest> rows);

  // llm::Backend::hold, from the next step on.
  std::unique_ptr<llm::PrefixHold> hold(std::vector<Token> tokens) {
    return holds_->hold(std::move(tokens));
  }

  // As of the last step. A row is counted before its Done is called.
  llm::BackendStats stats() const;

 private:
  Next run_pass(const Turn& turn) override;
  Next run_one_pass(const Turn& turn);
  void end() override;
  std::vector<EngineRequest> take_inbox();
  std::optional<TimePoint> window_end() const;

  const Clock& clock_;
  const StartWindow start_;
  std::unique_ptr<ModelRunner> runner_;
  const RunnerLimits limits_;
  StepLoop loop_;     // used by the device thread only
  bool idle_ = true;  // likewise: the loop had nothing to run

  mutable std::mutex mutex_;
  std::vector<EngineRequest> inbox_;  // from other threads, for the device thread
  TimePoint first_row_at_;            // when the first row in the inbox came
  llm::BackendStats stats_;

  const std::shared_ptr<PrefixHolds> holds_;
  const std::shared_ptr<DeviceThread> thread_;
  TaskId task_;
};

}  // namespace windrow::engine
