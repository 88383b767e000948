#include "engine/generate/step_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "base/ensure.h"
#include "engine/host/row_failures.h"

namespace windrow::engine {
namespace {

constexpr int kFailuresInARowMax = 3;

// Of a token of an answer: itself and its text.
constexpr size_t kTokenBytes = 16;

SchedulerLimits scheduler_limits(const RunnerLimits& limits,
                                 const queueing::ReserveOptions& reserve) {
  return SchedulerLimits{.cells_max = limits.cells_max,
                         .rows_max = limits.rows_max,
                         .sequences_max = limits.sequences_max,
                         .step_tokens_max = limits.step_tokens_max,
                         .step_outputs_max = limits.step_outputs_max,
                         .sharing = limits.sharing,
                         .compact_cells_max = limits.compact_cells_max,
                         .mixes = limits.mixes,
                         .reserve = reserve};
}

// Some devices throw through the library when they are lost or out of memory (Vulkan does).
Result<void> run_model(ModelRunner& runner, std::span<const StepRow> step) {
  try {
    return runner.run(step);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kNoSpace,
                 "there was not memory enough for a forward pass; ask for less at once"};
  } catch (const std::exception& error) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("the model's device failed: {}", error.what())};
  }
}

llm::Failure no_token(const StepOutput& output) {
  const bool nothing_allowed = output.mask && output.mask->count() == 0;
  if (nothing_allowed && output.row->guide()->too_complex()) return too_complex();
  if (nothing_allowed) {
    return {.code = "unsupported_by_model",
            .message =
                "the model's vocabulary has no token for what has to come next under this "
                "structure",
            .param = "response_format"};
  }
  return row_failure("engine_error",
                     "the model's logits are not numbers; its file may be damaged, or its weights "
                     "overflow the number format in use (try --kv-type f32)");
}

}  // namespace

StepLoop::StepLoop(ModelRunner& runner, const Vocabulary& vocabulary, const Clock& clock,
                   StepLoopOptions options)
    : runner_(runner),
      vocabulary_(vocabulary),
      clock_(clock),
      scheduler_(scheduler_limits(runner.limits(), options.reserve)),
      step_size_(options.step_target, options.lone_step_target.value_or(options.step_target),
                 runner.limits().step_tokens_max),
      options_(std::move(options)),
      sampler_(options_.sampling_threads),
      masks_(options_.mask_filling) {}

StepLoop::~StepLoop() {
  cancel_all();
}

void StepLoop::add(EngineRequest request) {
  if (!broken_.empty()) {
    request.done(backend_failure(broken_));
    return;
  }
  const auto prompt_tokens = static_cast<int32_t>(request.prompt.size());
  const int32_t output_tokens_max = request.output_tokens_max;
  ENSURE(prompt_tokens + output_tokens_max <= runner_.limits().row_tokens_max,
         "a row of up to {} tokens came in, the model takes {}", prompt_tokens + output_tokens_max,
         runner_.limits().row_tokens_max);
  ENSURE(!request.score_prompt || request.logprobs_top, "scores were not asked for");
  ENSURE(!request.prompt_logprobs_top || !request.listener, "scores apart are not streamed");
  if (request.unwanted.stop_requested() || request.withdrawn.stop_requested()) {
    request.done(cancelled());
    return;
  }
  const RowId id(next_row_++);
  Row& row = rows_.try_emplace(id, std::move(request), vocabulary_).first->second;
  const EngineRequest& asked = row.answer.request();
  if (asked.unwanted.stop_possible() || asked.withdrawn.stop_possible()) revocable_.insert(id);
  totals_.count(row.answer.begin());
  if (row.answer.is_streamed()) ++streams_;
  const std::optional<llm::FinishReason> ending = row.answer.ending();
  if (row.answer.guide() && !ending) masks_.request(id, row.answer.guide());
  if (const auto fault = row.answer.structure_fault()) {
    end(id, *fault == StructureFault::kTooComplex ? too_complex() : token_refused());
    return;
  }
  // The last token of a row that has ended is scored by those before it and need not be computed.
  const auto known = static_cast<int32_t>(row.answer.tokens().size()) - (ending ? 1 : 0);
  const std::optional<int32_t> scores_top = asked.scores_top();
  // The logits of a token score the one after it.
  const Position scores_from = asked.scores_prompt()
                                   ? std::clamp(asked.score_from - 1, 0, prompt_tokens - 1)
                                   : prompt_tokens - 1;
  if (ending && (!scores_top || known <= scores_from)) {
    row.started_at = clock_.now();
    finish(id, *ending);
    return;
  }
  emit(id);
  scheduler_.add({.id = id,
                  .tokens = &row.answer.tokens(),
                  .prompt_tokens = known,
                  .output_tokens_max = std::max(1, prompt_tokens + output_tokens_max - known),
                  .outputs_from = scores_top ? scores_from : known - 1,
                  .scores_top = asked.scores_prompt() ? scores_top : std::nullopt,
                  .keep = asked.keep,
                  .priority = asked.priority});
}

void StepLoop::change(HoldChange change) {
  if (change.tokens.empty()) {
    scheduler_.release_hold(change.hold);
  } else {
    scheduler_.hold(change.hold, std::move(change.tokens));
  }
}

// --- one step -----------------------------------------------------------------------------------

bool StepLoop::step(bool alone) {
  end_cancelled();
  cancel_abandoned();
  sample_deferred();
  const int32_t tokens_max = step_size_.prefill_tokens_max();
  const ScheduledStep step = scheduler_.next(
      tokens_max, alone ? step_size_.lone_tokens_max() : tokens_max, batch_throttle_.tokens());
  for (const MemoryChange& change : step.changes)
    runner_.change(change);
  for (const TakenScores& taken : step.scores)
    rows_.at(taken.row).answer.add_kept_scores(taken.scores);
  if (!step.slices.empty()) {
    run(step);
    return true;
  }
  if (!masks_.has_deferred()) return false;
  masks_.wait();
  return true;
}

void StepLoop::run(const ScheduledStep& step) {
  const TimePoint start = clock_.now();
  std::vector<StepRow> step_rows;
  step_rows.reserve(step.slices.size());
  for (const Slice& slice : step.slices) {
    Row& row = rows_.at(slice.row);
    if (!row.started) {
      row.started = true;
      row.started_at = start;
      if (row.answer.request().group) row.answer.request().group->started = true;
    }
    step_rows.push_back(StepRow{.sequence = slice.sequence,
                                .first = slice.first,
                                .tokens = std::span(row.answer.tokens())
                                              .subspan(static_cast<size_t>(slice.first),
                                                       static_cast<size_t>(slice.tokens_count)),
                                .outputs_count = slice.outputs_count});
  }
  const Result<void> result = run_model(runner_, step_rows);
  if (result) {
    step_ran(step, clock_.now() - start);
  } else {
    step_failed(step, result.error());
  }
}

void StepLoop::step_ran(const ScheduledStep& step, Duration duration) {
  failures_in_a_row_ = 0;
  ++totals_.steps;
  scheduler_.step_ran(step);
  llm::StepReport report{.duration = duration};
  std::vector<llm::RowTrace> traces;
  int32_t prefill_tokens = 0;
  int32_t decoding_rows = 0;
  int32_t clients_tokens_max = 0;  // of one row
  for (const Slice& slice : step.slices) {
    if (rows_.at(slice.row).answer.request().priority != llm::Priority::kBatch)
      clients_tokens_max = std::max(clients_tokens_max, slice.tokens_count);
    if (slice.tokens_count > 1) {
      prefill_tokens += slice.tokens_count;
    } else {
      ++decoding_rows;
    }
    keep_scores_again(slice);
    const llm::RowTrace trace = rows_.at(slice.row).count(slice, totals_, report);
    if (options_.on_rows) traces.push_back(trace);
  }
  step_size_.step_took(prefill_tokens, decoding_rows, duration);
  batch_throttle_.step_took({.clients_wait = step.clients_wait,
                             .clients_decode = clients_tokens_max == 1,
                             .clients_prefill = clients_tokens_max > 1,
                             .background_tokens = step.background_tokens,
                             .duration = duration});
  const TimePoint ran_at = clock_.now();
  std::vector<StepOutput> outputs = outputs_of(step);
  report.outputs = static_cast<int32_t>(outputs.size());
  masks_.assign(outputs);
  report.mask_wait = clock_.now() - ran_at;
  sampler_.run(outputs);
  const int64_t preemptions = scheduler_.counts().preemptions;
  report.preempted =
      static_cast<int32_t>(preemptions - std::exchange(preemptions_reported_, preemptions));
  report.sampling = clock_.now() - ran_at;
  // Before the answers are handed over: the receiver of an answer can then count all its passes.
  if (options_.on_rows) options_.on_rows(report, traces);
  for (StepOutput& output : outputs)
    take(output);
  // The outputs of one row lie side by side.
  for (size_t i = 0; i < outputs.size() && streams_ > 0; ++i) {
    if (i == 0 || outputs[i].id != outputs[i - 1].id) emit(outputs[i].id);
  }
  if (!options_.on_step) return;
  report.sampling = clock_.now() - ran_at;
  options_.on_step(report);
}

std::vector<StepOutput> StepLoop::outputs_of(const ScheduledStep& step) const {
  std::vector<StepOutput> outputs;
  for (const Slice& slice : step.slices) {
    const Position end = slice.first + slice.tokens_count;
    for (Position position = end - slice.outputs_count; position < end; ++position) {
      outputs.push_back({.id = slice.row,
                         .row = &rows_.at(slice.row).answer,
                         .position = position,
                         .logits = runner_.logits(outputs.size())});
    }
  }
  return outputs;
}

// What a preempted row computes again has no logits, because its scores were handed out before.
void StepLoop::keep_scores_again(const Slice& slice) {
  const AnswerRow& answer = rows_.at(slice.row).answer;
  if (!answer.request().scores_prompt()) return;
  const Position end = slice.first + slice.tokens_count - slice.outputs_count;
  for (Position position = slice.first; position < end; ++position) {
    std::optional<KeptScore> score = answer.kept_score(static_cast<size_t>(position) + 1);
    if (!score) return;
    scheduler_.keep_score(slice.row, position, *std::move(score));
  }
}

void StepLoop::step_failed(const ScheduledStep& step, const Error& error) {
  if (error.kind == ErrorKind::kUnavailable) {
    fail_for_good(error);
    return;
  }
  if (error.kind == ErrorKind::kNoSpace) {
    if (!scheduler_.step_had_no_space(step))
      end(step.slices.front().row, row_failure("out_of_memory", error.message));
    return;
  }
  if (!scheduler_.step_failed(step)) return;
  if (++failures_in_a_row_ >= kFailuresInARowMax) {
    fail_for_good(error);
    return;
  }
  end(step.slices.front().row, row_failure("engine_error", error.message));
}

// Rows that sat out and whose masks are ready now.
void StepLoop::sample_deferred() {
  std::vector<RowMasks::Deferred> ready = masks_.take_ready();
  for (RowMasks::Deferred& deferred : ready)
    sampler_.run({&deferred.output, 1});
  for (RowMasks::Deferred& deferred : ready) {
    take(deferred.output);
    emit(deferred.output.id);
  }
}

// --- answers ------------------------------------------------------------------------------------

// An allocation that fails for one row ends that row, and no other.
void StepLoop::take(StepOutput& output) {
  try {
    take_token(output);
  } catch (const std::bad_alloc&) {
    if (rows_.contains(output.id)) end(output.id, out_of_memory());
  }
}

void StepLoop::take_token(StepOutput& output) {
  const RowId id = output.id;
  const auto found = rows_.find(id);
  if (found == rows_.end()) return;  // an earlier output of this step ended it
  Row& row = found->second;
  if (output.no_memory) {
    end(id, out_of_memory());
    return;
  }
  if (!output.token) {
    end(id, no_token(output));
    return;
  }
  const bool has_scores = row.answer.has_scores();
  if (!row.answer.grow(kTokenBytes + (has_scores ? llm::bytes_of(output.scored) : 0))) {
    end(id, llm::no_room_for_answer());
    return;
  }
  if (row.answer.request().scores_prompt()) {
    scheduler_.keep_score(id, output.position,
                          kept_score(output.scored, *row.answer.request().scores_top()));
  }
  if (has_scores) row.answer.add_score(std::move(output.scored));
  const auto tokens = static_cast<Position>(row.answer.tokens().size());
  const std::optional<llm::FinishReason> ending = row.answer.ending();
  if (output.position + 1 == tokens) {
    if (!row.answering_since) row.answering_since = clock_.now();
    const AnswerRow::Appended appended = row.answer.append(*output.token);
    totals_.count(appended);
    go_on(id, row, appended);
  } else if (ending && output.position + 2 == tokens) {
    finish(id, *ending);
  }
}

// The answer has grown: the row ends, or the model computes what is new.
void StepLoop::go_on(RowId id, Row& row, const AnswerRow::Appended& appended) {
  if (const auto fault = row.answer.structure_fault()) {
    end(id, *fault == StructureFault::kTooComplex ? too_complex() : token_refused());
    return;
  }
  const bool has_scores = row.answer.has_scores();
  if (!appended.ended) {
    scheduler_.extend(id, appended.tokens, has_scores);
    if (row.answer.guide()) masks_.request(id, row.answer.guide());
  } else if (has_scores && appended.tokens > 1) {
    // The tokens that were forced have no scores yet.
    row.answer.end_when_scored(*appended.ended);
    scheduler_.extend(id, appended.tokens - 1, true);
  } else {
    finish(id, *appended.ended);
  }
}

void StepLoop::emit(RowId id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return;
  try {
    found->second.answer.emit();
  } catch (const std::bad_alloc&) {
    if (rows_.contains(id)) end(id, out_of_memory());
  }
}

void StepLoop::finish(RowId id, llm::FinishReason reason) {
  Row& row = rows_.at(id);
  const TimePoint now = clock_.now();
  const TimePoint answering_since = row.answering_since.value_or(now);
  const TimePoint submitted_at = row.answer.request().submitted_at;
  end(id, row.answer.finish(reason,
                            {.queue_ms = milliseconds(row.started_at - submitted_at),
                             .prefill_ms = milliseconds(answering_since - row.started_at),
                             .decode_ms = milliseconds(now - answering_since)},
                            row.cached_tokens));
}

llm::RowTrace StepLoop::Row::count(const Slice& slice, Totals& totals, llm::StepReport& report) {
  const int32_t prompt_tokens = answer.prompt_tokens();
  report.tokens += slice.tokens_count;
  const bool is_decoding = slice.first >= prompt_tokens;
  ++(is_decoding ? report.rows_decoding : report.rows_prefilling);
  llm::RowTrace trace{
      .tag = answer.request().trace_tag, .tokens = slice.tokens_count, .is_decoding = is_decoding};
  if (!std::exchange(computed, true)) {
    // Its first slice begins behind the tokens that it shares.
    cached_tokens = prompt_tokens_counted = std::min(slice.first, prompt_tokens);
    totals.cached_tokens += cached_tokens;
    report.cached_tokens += cached_tokens;
    trace.cached_tokens = cached_tokens;
  }
  const int32_t prefilled = std::min(slice.first + slice.tokens_count, prompt_tokens);
  totals.prompt_tokens += std::max(0, prefilled - prompt_tokens_counted);
  prompt_tokens_counted = std::max(prompt_tokens_counted, prefilled);
  return trace;
}

// What a row without an answer has cost. Of the prompt that is what was computed or shared.
llm::Usage StepLoop::Row::usage_so_far() const {
  return {.prompt_tokens = prompt_tokens_counted,
          .completion_tokens = answer.generated_tokens(),
          .cached_tokens = cached_tokens};
}

// --- ends ---------------------------------------------------------------------------------------

// The row is removed before its Done is called, so that Done sees a settled loop.
void StepLoop::end(RowId id, llm::Outcome outcome) {
  if (scheduler_.contains(id)) scheduler_.remove(id);
  const auto found = rows_.find(id);
  ENSURE(found != rows_.end(), "row {} ends twice", id.value());
  Row& row = found->second;
  if (auto* failure = std::get_if<llm::Failure>(&outcome)) failure->usage = row.usage_so_far();
  const llm::Backend::Done done = row.answer.take_done();
  const std::shared_ptr<RowGroup> group = row.answer.request().group;
  if (row.answer.guide()) masks_.drop(id);
  revocable_.erase(id);
  if (row.answer.is_streamed()) --streams_;
  rows_.erase(found);
  if (before_done_) before_done_();
  done(std::move(outcome));
  if (group && group->abandoned) has_abandoned_ = true;
}

void StepLoop::end_all(const llm::Failure& failure) {
  while (!rows_.empty())
    end(rows_.begin()->first, failure);
}

void StepLoop::fail_for_good(const Error& error) {
  broken_ = error.message;
  end_all(backend_failure(broken_));
}

void StepLoop::end_cancelled() {
  std::vector<RowId> ended;
  for (const RowId id : revocable_) {
    const Row& row = rows_.at(id);
    const EngineRequest& asked = row.answer.request();
    const bool started = row.started || (asked.group != nullptr && asked.group->started);
    if (asked.unwanted.stop_requested() || (!started && asked.withdrawn.stop_requested()))
      ended.push_back(id);
  }
  for (const RowId id : ended)
    end(id, cancelled());
}

void StepLoop::cancel_abandoned() {
  if (!std::exchange(has_abandoned_, false)) return;
  std::vector<RowId> abandoned;
  for (const auto& [id, row] : rows_) {
    const RowGroup* group = row.answer.request().group.get();
    if (group != nullptr && group->abandoned) abandoned.push_back(id);
  }
  for (const RowId id : abandoned)
    end(id, cancelled());
}

void StepLoop::cancel_all() {
  end_all(cancelled());
}

void StepLoop::end_out_of_memory() {
  end_all(out_of_memory());
}

llm::BackendStats StepLoop::stats() const {
  const SchedulerCounts counts = scheduler_.counts();
  const DeviceMemory memory = runner_.device_memory();
  return llm::BackendStats{.prompt_tokens = totals_.prompt_tokens,
                           .cached_tokens = totals_.cached_tokens,
                           .generated_tokens = totals_.generated_tokens,
                           .forced_tokens = totals_.forced_tokens,
                           .steps = totals_.steps,
                           .preemptions = counts.preemptions,
                           .recomputed_tokens = counts.recomputed_tokens,
                           .rows_running = counts.rows_running,
                           .rows_waiting = counts.rows_waiting,
                           .cells_used = counts.cells_used,
                           .cells_cached = counts.cells_cached,
                           .cells_held = counts.cells_held,
                           .cells_max = runner_.limits().cells_max,
                           .device_bytes_used = memory.used_bytes,
                           .device_bytes_max = memory.max_bytes};
}

}  // namespace windrow::engine
