// StepLoop: the engine without its thread. Rows go in; each call of step() runs one forward pass;
// answers come out through each row's Done. It joins the pure parts (BatchScheduler, StepSize,
// sampler, AnswerText) to a ModelRunner and decides nothing itself.
//
// A row whose answer has a form (structure/answer_guide.h) is sampled with a mask, which is looked
// for while the model runs. A row whose mask is not there in time keeps its logits and sits out;
// what comes next in any case is appended without asking the model, and computed together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "async/parallel_for.h"
#include "base/clock.h"
#include "chat/reasoning.h"
#include "engine/generate/answer_stream.h"
#include "engine/generate/answer_text.h"
#include "engine/generate/call_text.h"
#include "engine/host/model_runner.h"
#include "engine/host/types.h"
#include "engine/host/vocabulary.h"
#include "engine/sampling/sampler.h"
#include "engine/schedule/batch_scheduler.h"
#include "engine/schedule/batch_work_throttle.h"
#include "engine/schedule/step_size.h"
#include "engine/structure/answer_guide.h"
#include "engine/structure/mask_filler.h"
#include "llm/answer_room.h"
#include "llm/backend.h"
#include "llm/priority.h"
#include "llm/step_report.h"
#include "llm/stream_sink.h"
#include "queueing/reserve.h"

namespace windrow::engine {

// Rows that are one request together. The engine thread's, once they are submitted.
struct RowGroup {
  bool started = false;    // one of them has taken part in a step, so none counts as waiting
  bool abandoned = false;  // nobody wants them any more: they end with kCancelled before the next
                           // step
};

// One row as the engine thread takes it: tokenised and checked on the caller's side.
struct EngineRequest {
  std::vector<Token> prompt;      // at least one token
  int32_t output_tokens_max = 1;  // prompt and answer fit RunnerLimits::row_tokens_max; may be 0
  llm::Sampling sampling;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  std::optional<int32_t> logprobs_top;
  std::vector<Token> shown_tokens;  // control tokens that the text names, "[THINK]"
  bool score_prompt = false;        // Choice::tokens begins with the prompt's; needs logprobs_top
  std::string text_before;          // Choice::text begins with it
  std::shared_ptr<RowGroup> group;  // none: a row of its own

  // What the answer has to be; none: any text. Not together with ignore_eos or without room for an
  // answer. The answer's thoughts, which are free, are then split off.
  std::shared_ptr<const AnswerForm> form;

  // Without a form, or with `tools`: thoughts are split off by their marks; none: everything is
  // said.
  std::shared_ptr<const chat::ReasoningContext> reasoning;

  // Calls of tools are looked for in what is said; none: they are text. Only together with
  // `reasoning`. With a form it is that of calls, or one that has calls, too.
  std::shared_ptr<const chat::ToolContext> tools;
  bool keep = false;  // a later prompt is likely to begin with all of this
  llm::Priority priority = llm::Priority::kNormal;  // which rows go first (batch_scheduler.h)
  TimePoint submitted_at;

  // Hears the answer while it is made, as this choice of its request; none: nobody does.
  std::shared_ptr<llm::StreamSink> listener;
  int32_t choice = 0;
  int32_t text_begin = 0;  // Choice::text_begin

  std::shared_ptr<llm::AnswerShare> answer_share;  // as llm::Request's

  std::stop_token unwanted;  // once stopped, the row ends with kCancelled before the next step
  llm::Backend::Done done;
};

// How the rows of a step are sampled. What they say does not depend on it.
struct SamplingThreads {
  int32_t count = 1;  // the engine thread is one of them; 0, for an Engine: the cores, up to 8

  // A step with fewer logits is not worth waking them.
  int64_t logits_min = int64_t{1} << 18;
};

struct StepLoopOptions {
  // How long a step should take, as far as prompts make it long; and where one row has the step to
  // itself, so that nobody waits for its end; absent: the same.
  Duration step_target = std::chrono::seconds(2);
  std::optional<Duration> lone_step_target;

  SamplingThreads sampling_threads;
  queueing::ReserveOptions reserve;  // of rows and of the model's memory
  MaskFilling mask_filling;
  llm::StepObserver on_step;  // after each step that ran; none: nobody counts
};

// Used by one thread at a time. Every Done and every listener is called from within a method.
class StepLoop {
 public:
  // `runner`, `vocabulary` and `clock` must outlive the loop.
  StepLoop(ModelRunner& runner, const Vocabulary& vocabulary, const Clock& clock,
           StepLoopOptions options = {});

  // Cancels what is unfinished.
  ~StepLoop();
  StepLoop(const StepLoop&) = delete;
  StepLoop& operator=(const StepLoop&) = delete;

  void add(EngineRequest request);

  // Runs one step. False when there was nothing to run. `alone`: nobody beyond this loop waits for
  // its end.
  bool step(bool alone = true);

  // Rows that have taken part in no step yet, or all.
  void cancel_waiting();
  void cancel_all();

  // Ends all rows: memory ended where nobody knows for which of them.
  void end_out_of_memory();

  // Called before each Done, when the statistics already count what it reports.
  void set_before_done(std::function<void()> before_done) { before_done_ = std::move(before_done); }

  // Without in_flight or device readings of other threads: a plain copy.
  llm::BackendStats stats() const;

 private:
  struct Row {
    int32_t generated_tokens() const { return static_cast<int32_t>(tokens.size()) - prompt_tokens; }

    EngineRequest request;
    std::vector<Token> tokens;  // prompt and what was said
    int32_t prompt_tokens = 0;
    int32_t prompt_tokens_counted = 0;  // in the statistics, where a token counts once
    int32_t cached_tokens = 0;          // of the prompt, that it did not have to compute
    AnswerText text;
    std::vector<llm::ScoredToken> scored;
    std::unique_ptr<AnswerStream> stream;  // of a row with a listener
    std::unique_ptr<CallEnd> call_end;     // of a row that may call one tool only
    bool called = false;                   // and that call is whole
    TimePoint started_at;
    std::optional<TimePoint> answering_since;
    bool started = false;
    bool computed = false;  // a step with some of it has run

    // It is over, but the last tokens have no scores yet.
    std::optional<llm::FinishReason> ending;
    bool stopped = false;      // by a stop text
    bool too_complex = false;  // its structure, to go on
    bool no_room = false;      // for its answer: it ends with its next output

    // With a form. The guide is the filler's from when a mask is wanted until it is there.
    std::shared_ptr<AnswerGuide> guide;
    std::shared_ptr<WantedMask> mask;
    std::vector<float> kept_logits;  // while it sits out
  };

  // Logits of a step, and what is made of them: the score of the prompt's next token, or the next
  // token of the answer.
  struct Output {
    RowId id;
    const Row* row = nullptr;
    Position position = 0;  // of the token they follow
    std::span<const float> logits;
    std::shared_ptr<const grammar::TokenMask> mask;  // none: every token may come
    std::optional<Token> token;                      // none: the logits are not numbers,
    bool no_memory = false;                          // or memory ended
    llm::ScoredToken scored;                         // when the row wants it
  };

  void run(const ScheduledStep& plan);
  Result<void> run_model(std::span<const StepRow> step);
  void step_ran(const ScheduledStep& plan, Duration duration);
  void step_failed(const ScheduledStep& plan, const Error& error);
  std::vector<Output> outputs_of(const ScheduledStep& plan) const;
  void take_scores(const TakenScores& taken);
  void keep_scores_again(const Slice& slice);
  void take_masks(std::vector<Output>& outputs);
  void sample_kept();
  void wait_for_kept();
  void judge(Output& output, Sampler& sampler) const;
  void choose(Output& output, Sampler& sampler) const;
  void take(Output& output);
  void take_output(Output& output);
  template <class Task>
  void with_memory_of(RowId id, const Task& task);
  static bool has_room(const Row& row, size_t bytes);
  void take_token(RowId id, Row& row, Token token);
  void go_on(RowId id, Row& row, std::optional<llm::FinishReason> ended, size_t said_before);
  std::optional<llm::FinishReason> say(Row& row, Token token);
  std::optional<llm::FinishReason> say_text(Row& row, Token token);
  std::optional<llm::FinishReason> close_thoughts(Row& row);
  std::optional<llm::FinishReason> say_forced(Row& row);
  void want_mask(Row& row);
  llm::TokenLogprob token_logprob(Token token, double logprob) const;
  static std::unique_ptr<AnswerStream> stream_of(const Row& row);
  void tell(RowId id);
  void tell_listener(Row& row);
  void finish(RowId id, llm::FinishReason reason);
  static void describe(const Row& row, llm::Choice& choice);
  static std::vector<std::string_view> thoughts_of(const Row& row);
  int32_t thought_tokens(const Row& row) const;
  void append_text(const Row& row, Token token, std::string& bytes) const;
  static llm::Usage usage_so_far(const Row& row);
  void end(RowId id, llm::Outcome outcome);
  void end_all(const llm::Failure& failure);
  void end_abandoned();
  void end_unwanted();
  void fail_for_good(const Error& error);

  ModelRunner& runner_;
  const Vocabulary& vocabulary_;
  const Clock& clock_;
  BatchScheduler plan_;
  StepSize step_size_;
  BatchWorkThrottle background_turns_;
  const StepLoopOptions options_;
  async::ParallelFor workers_;
  std::vector<Sampler> samplers_;  // one per worker
  MaskFiller mask_filler_;
  std::vector<RowId> kept_;  // rows that sit out
  std::unordered_map<RowId, Row> rows_;
  std::set<RowId> revocable_;  // rows that may become unwanted
  size_t streams_ = 0;         // rows with a listener
  uint64_t next_row_ = 0;
  int64_t prompt_tokens_ = 0;
  int64_t cached_tokens_ = 0;
  int64_t generated_tokens_ = 0;
  int64_t forced_tokens_ = 0;
  int64_t steps_ = 0;
  int64_t preemptions_reported_ = 0;
  int failures_in_a_row_ = 0;
  std::function<void()> before_done_;
  bool abandoned_ = false;  // rows may be there that nobody wants any more
  std::string broken_;      // why nothing can run any more; empty while it can
};

}  // namespace windrow::engine
