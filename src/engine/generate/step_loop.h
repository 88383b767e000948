// StepLoop: generation without a thread of its own. Rows go in; each call of step() runs one
// forward pass for the rows that BatchScheduler chose; answers come out through each request's
// Done. It joins the scheduler, a ModelRunner, the StepSampler and the AnswerRows, and decides
// nothing itself.
//
// A cancelled client's rows are taken out before the next step.
//
// A row whose answer has a form is sampled with a mask, and may have to sit out until that is ready
// (RowMasks).
//
// Invariants:
//  * Each request's Done is called once, after the statistics count the row.
//  * A failure that is one row's ends that row only: a step that failed is run again row by row.
//    After kFailuresInARowMax rows that failed alone, one after the other, the model counts as
//    broken: all rows end with kBackend, and so does every later one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/generate/answer_row.h"
#include "engine/generate/engine_request.h"
#include "engine/generate/prefix_holds.h"
#include "engine/generate/row_masks.h"
#include "engine/generate/step_sampler.h"
#include "engine/host/model_runner.h"
#include "engine/host/types.h"
#include "engine/host/vocabulary.h"
#include "engine/schedule/batch_scheduler.h"
#include "engine/schedule/batch_work_throttle.h"
#include "engine/schedule/step_size.h"
#include "engine/structure/mask_filler.h"
#include "llm/backend.h"
#include "llm/step_report.h"
#include "queueing/reserve.h"

namespace windrow::engine {

struct StepLoopOptions {
  // How long a step should take, as far as prompts make it long; and where one row has the step to
  // itself, so that no other waits for its end (absent: the same).
  Duration step_target = std::chrono::seconds(2);
  std::optional<Duration> lone_step_target;

  SamplingThreads sampling_threads;
  queueing::ReserveOptions reserve;  // of slots and of the model's memory
  MaskFilling mask_filling;
  llm::StepObserver on_step;  // called after each step that ran; may be empty
  llm::RowObserver on_rows;   // likewise, with the rows of the step
};

// Used by one thread at a time. Every Done and every listener is called from within a method.
class StepLoop {
 public:
  // `runner`, `vocabulary` and `clock` must outlive the loop.
  StepLoop(ModelRunner& runner, const Vocabulary& vocabulary, const Clock& clock,
           StepLoopOptions options = {});

  // Cancels all rows.
  ~StepLoop();
  StepLoop(const StepLoop&) = delete;
  StepLoop& operator=(const StepLoop&) = delete;

  // Queues a row, which takes part from the next step on. It may end at once.
  void add(EngineRequest request);

  // A prefix is held from now on, or no longer.
  void change(HoldChange change);

  // Runs one step. False when there was nothing to run. `alone`: no other task waits for the device
  // (DeviceThread), so the step may be as long as its rows like.
  bool step(bool alone = true);

  // Ends all rows with kCancelled.
  void cancel_all();

  // Ends all rows: an allocation failed, and it is not known for which of them.
  void end_out_of_memory();

  // Called before each Done, when the statistics already count what it reports.
  void set_before_done(std::function<void()> before_done) { before_done_ = std::move(before_done); }

  // As of now. Has no in_flight, and no readings of other threads.
  llm::BackendStats stats() const;

 private:
  // Of all rows, for stats(). A token counts once, however often it is computed.
  struct Totals {
    void count(const AnswerRow::Appended& appended) {
      generated_tokens += appended.tokens;
      forced_tokens += appended.forced;
    }

    int64_t prompt_tokens = 0;
    int64_t cached_tokens = 0;
    int64_t generated_tokens = 0;
    int64_t forced_tokens = 0;
    int64_t steps = 0;
  };

  struct Row {
    Row(EngineRequest request, const Vocabulary& vocabulary)
        : answer(std::move(request), vocabulary) {}

    // A step has computed this slice of it: adds to `totals` and to the step's report.
    llm::RowTrace count(const Slice& slice, Totals& totals, llm::StepReport& report);

    llm::Usage usage_so_far() const;

    AnswerRow answer;
    int32_t prompt_tokens_counted = 0;  // in Totals
    int32_t cached_tokens = 0;          // of the prompt, shared instead of computed
    TimePoint started_at;
    std::optional<TimePoint> answering_since;
    bool started = false;
    bool computed = false;  // a step with some of it has run
  };

  void run(const ScheduledStep& step);
  void step_ran(const ScheduledStep& step, Duration duration);
  void step_failed(const ScheduledStep& step, const Error& error);
  std::vector<StepOutput> outputs_of(const ScheduledStep& step) const;
  void keep_scores_again(const Slice& slice);
  void sample_deferred();
  void take(StepOutput& output);
  void take_token(StepOutput& output);
  void go_on(RowId id, Row& row, const AnswerRow::Appended& appended);
  void emit(RowId id);
  void finish(RowId id, llm::FinishReason reason);
  void end(RowId id, llm::Outcome outcome);
  void end_all(const llm::Failure& failure);
  void end_cancelled();
  void cancel_abandoned();
  void fail_for_good(const Error& error);

  ModelRunner& runner_;
  const Vocabulary& vocabulary_;
  const Clock& clock_;
  BatchScheduler scheduler_;
  StepSize step_size_;
  BatchWorkThrottle batch_throttle_;
  const StepLoopOptions options_;
  StepSampler sampler_;
  RowMasks masks_;
  std::unordered_map<RowId, Row> rows_;
  std::set<RowId> revocable_;  // rows whose request may be cancelled by its token
  size_t streams_ = 0;         // rows with a listener
  uint64_t next_row_ = 0;
  Totals totals_;
  int64_t preemptions_reported_ = 0;
  int failures_in_a_row_ = 0;
  std::function<void()> before_done_;
  bool has_abandoned_ = false;  // there may be rows whose group is abandoned
  std::string broken_;          // why nothing can run any more; empty while it can
};

}  // namespace windrow::engine
