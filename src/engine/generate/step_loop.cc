#include "engine/generate/step_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/ensure.h"
#include "engine/host/row_failures.h"
#include "engine/sampling/sampler.h"

namespace windrow::engine {
namespace {

// So many rows in a row that each fail alone mean that the model is broken, not the rows.
constexpr int kFailuresInARowMax = 3;

PlanLimits plan_limits(const RunnerLimits& limits, const queueing::ReserveOptions& reserve) {
  return PlanLimits{.cells_max = limits.cells_max,
                    .rows_max = limits.rows_max,
                    .sequences_max = limits.sequences_max,
                    .step_tokens_max = limits.step_tokens_max,
                    .step_outputs_max = limits.step_outputs_max,
                    .sharing = limits.sharing,
                    .compact_cells_max = limits.compact_cells_max,
                    .mixes = limits.mixes,
                    .reserve = reserve};
}

}  // namespace

StepLoop::StepLoop(ModelRunner& runner, const Vocabulary& vocabulary, const Clock& clock,
                   StepLoopOptions options)
    : runner_(runner),
      vocabulary_(vocabulary),
      clock_(clock),
      plan_(plan_limits(runner.limits(), options.reserve)),
      step_size_(options.step_target, options.lone_step_target.value_or(options.step_target),
                 runner.limits().step_tokens_max),
      options_(std::move(options)),
      workers_(options_.sampling_threads.count),
      samplers_(static_cast<size_t>(options_.sampling_threads.count)),
      mask_filler_(options_.mask_filling) {}

StepLoop::~StepLoop() {
  cancel_all();
}

void StepLoop::add(EngineRequest request) {
  if (!broken_.empty()) {
    request.done(backend_failure(broken_));
    return;
  }
  const auto prompt_tokens = static_cast<int32_t>(request.prompt.size());
  ENSURE(prompt_tokens + request.output_tokens_max <= runner_.limits().row_tokens_max,
         "a row of up to {} tokens came in, the model takes {}",
         prompt_tokens + request.output_tokens_max, runner_.limits().row_tokens_max);
  ENSURE(!request.score_prompt || request.logprobs_top, "scores that nobody asked for");
  if (request.unwanted.stop_requested()) {
    request.done(cancelled());
    return;
  }
  const RowId id(next_row_++);
  std::vector<Token> tokens = std::move(request.prompt);
  AnswerText text(std::move(request.stop));
  Row& row = rows_
                 .emplace(id, Row{.request = std::move(request),
                                  .tokens = std::move(tokens),
                                  .prompt_tokens = prompt_tokens,
                                  .text = std::move(text)})
                 .first->second;
  const bool scores = row.request.score_prompt;
  if (scores) {
    // Nothing is before the first token, so nothing is known of it.
    row.scored.push_back({.chosen = token_logprob(row.tokens.front(), 0), .has_logprob = false});
  }
  const auto room = static_cast<size_t>(row.request.output_tokens_max);
  if (row.request.output_tokens_max == 0) row.ending = llm::FinishReason::kLength;
  if (row.request.form) {
    ENSURE(room > 0 && !row.request.ignore_eos, "a form needs an answer that may end");
    // It may wait again when its next token is known (NewRow::tokens).
    row.tokens.reserve(row.tokens.size() + room);
    row.guide = std::make_shared<AnswerGuide>(row.request.form);
  }
  if (row.request.unwanted.stop_possible()) revocable_.insert(id);
  if (row.request.listener) {
    ++streams_;
    row.stream = stream_of(row);
  }
  if (row.request.tools && !row.request.tools->several)
    row.call_end = std::make_unique<CallEnd>(*row.request.reasoning, row.request.tools);
  if (row.guide) {
    row.ending = say_forced(row);
    if (!row.ending) want_mask(row);
  }
  if (row.too_complex) {
    end(id, too_complex());
    return;
  }
  // The last token of a row that is over is scored by those before it and need not be computed.
  const auto known = static_cast<int32_t>(row.tokens.size()) - (row.ending ? 1 : 0);
  const Position scores_from = scores ? 0 : prompt_tokens - 1;
  if (row.ending && (!row.request.logprobs_top || known <= scores_from)) {
    row.started_at = clock_.now();
    finish(id, *row.ending);
    return;
  }
  tell(id);
  plan_.add(
      {.id = id,
       .tokens = &row.tokens,
       .prompt_tokens = known,
       .output_tokens_max = std::max(1, prompt_tokens + row.request.output_tokens_max - known),
       .outputs_from = row.request.logprobs_top ? scores_from : known - 1,
       .scores_top = scores ? row.request.logprobs_top : std::nullopt,
       .keep = row.request.keep,
       .priority = row.request.priority});
}

bool StepLoop::step(bool alone) {
  end_unwanted();
  end_abandoned();
  sample_kept();
  const int32_t tokens_max = step_size_.prefill_tokens_max();
  const ScheduledStep plan = plan_.next(
      tokens_max, alone ? step_size_.lone_tokens_max() : tokens_max, background_turns_.tokens());
  for (const MemoryChange& change : plan.changes)
    runner_.change(change);
  for (const TakenScores& taken : plan.scores)
    take_scores(taken);
  if (!plan.slices.empty()) {
    run(plan);
    return true;
  }
  if (kept_.empty()) return false;
  wait_for_kept();
  return true;
}

void StepLoop::run(const ScheduledStep& plan) {
  const TimePoint start = clock_.now();
  std::vector<StepRow> step;
  step.reserve(plan.slices.size());
  for (const Slice& slice : plan.slices) {
    Row& row = rows_.at(slice.row);
    if (!row.started) {
      row.started = true;
      row.started_at = start;
      if (row.request.group) row.request.group->started = true;
    }
    step.push_back(StepRow{.sequence = slice.sequence,
                           .first = slice.first,
                           .tokens = std::span(row.tokens)
                                         .subspan(static_cast<size_t>(slice.first),
                                                  static_cast<size_t>(slice.tokens_count)),
                           .outputs_count = slice.outputs_count});
  }
  const Result<void> result = run_model(step);
  if (result) {
    step_ran(plan, clock_.now() - start);
  } else {
    step_failed(plan, result.error());
  }
}

// Some devices throw through the library when they are lost or out of memory (Vulkan does).
Result<void> StepLoop::run_model(std::span<const StepRow> step) {
  try {
    return runner_.run(step);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kNoSpace,
                 "there was not memory enough for a forward pass; ask for less at once"};
  } catch (const std::exception& error) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("the model's device failed: {}", error.what())};
  }
}

void StepLoop::step_ran(const ScheduledStep& plan, Duration duration) {
  failures_in_a_row_ = 0;
  ++steps_;
  plan_.step_ran(plan);
  llm::StepReport report{.duration = duration};
  int32_t prefill_tokens = 0;
  int32_t decoding_rows = 0;
  int32_t clients_tokens_max = 0;  // of one row
  for (const Slice& slice : plan.slices) {
    if (rows_.at(slice.row).request.priority != llm::Priority::kBatch)
      clients_tokens_max = std::max(clients_tokens_max, slice.tokens_count);
    if (slice.tokens_count > 1) {
      prefill_tokens += slice.tokens_count;
    } else {
      ++decoding_rows;
    }
    keep_scores_again(slice);
    Row& row = rows_.at(slice.row);
    report.tokens += slice.tokens_count;
    ++(slice.first < row.prompt_tokens ? report.rows_prefilling : report.rows_decoding);
    if (!std::exchange(row.computed, true)) {
      // It begins behind what others have computed.
      row.cached_tokens = row.prompt_tokens_counted = std::min(slice.first, row.prompt_tokens);
      cached_tokens_ += row.cached_tokens;
      report.cached_tokens += row.cached_tokens;
    }
    const int32_t prefilled = std::min(slice.first + slice.tokens_count, row.prompt_tokens);
    prompt_tokens_ += std::max(0, prefilled - row.prompt_tokens_counted);
    row.prompt_tokens_counted = std::max(row.prompt_tokens_counted, prefilled);
  }
  step_size_.step_took(prefill_tokens, decoding_rows, duration);
  background_turns_.step_took({.clients_wait = plan.clients_wait,
                               .clients_decode = clients_tokens_max == 1,
                               .clients_prefill = clients_tokens_max > 1,
                               .background_tokens = plan.background_tokens,
                               .duration = duration});
  const TimePoint ran_at = clock_.now();
  std::vector<Output> outputs = outputs_of(plan);
  report.outputs = static_cast<int32_t>(outputs.size());
  take_masks(outputs);
  report.mask_wait = clock_.now() - ran_at;
  const int64_t logits = static_cast<int64_t>(outputs.size()) * runner_.limits().vocabulary_size;
  workers_.run(outputs.size(),
               logits >= options_.sampling_threads.logits_min ? options_.sampling_threads.count : 1,
               [&](size_t i, size_t worker) { judge(outputs[i], samplers_[worker]); });
  for (Output& output : outputs)
    take(output);
  // A row's outputs lie side by side.
  for (size_t i = 0; i < outputs.size() && streams_ > 0; ++i) {
    if (i == 0 || outputs[i].id != outputs[i - 1].id) tell(outputs[i].id);
  }
  if (!options_.on_step) return;
  report.sampling = clock_.now() - ran_at;
  const int64_t preemptions = plan_.counts().preemptions;
  report.preempted = static_cast<int32_t>(preemptions - preemptions_reported_);
  preemptions_reported_ = preemptions;
  options_.on_step(report);
}

std::vector<StepLoop::Output> StepLoop::outputs_of(const ScheduledStep& plan) const {
  std::vector<Output> outputs;
  for (const Slice& slice : plan.slices) {
    const Position end = slice.first + slice.tokens_count;
    for (Position position = end - slice.outputs_count; position < end; ++position) {
      outputs.push_back({.id = slice.row,
                         .row = &rows_.at(slice.row),
                         .position = position,
                         .logits = runner_.logits(outputs.size())});
    }
  }
  return outputs;
}

void StepLoop::step_failed(const ScheduledStep& plan, const Error& error) {
  switch (error.kind) {
    case ErrorKind::kUnavailable:
      fail_for_good(error);
      return;
    case ErrorKind::kNoSpace:
      if (!plan_.step_had_no_space(plan)) {
        end(plan.slices.front().row, row_failure("out_of_memory", error.message));
      }
      return;
    default:
      break;
  }
  if (!plan_.step_failed(plan)) return;
  if (++failures_in_a_row_ >= kFailuresInARowMax) {
    fail_for_good(error);
    return;
  }
  end(plan.slices.front().row, row_failure("engine_error", error.message));
}

// On any of the workers: reads what the engine thread leaves alone meanwhile.
void StepLoop::judge(Output& output, Sampler& sampler) const {
  try {
    choose(output, sampler);
  } catch (const std::bad_alloc&) {
    output.no_memory = true;
    output.token.reset();
  }
}

void StepLoop::choose(Output& output, Sampler& sampler) const {
  const Row& row = *output.row;
  const auto next = static_cast<size_t>(output.position) + 1;
  const auto prompt_tokens = static_cast<size_t>(row.prompt_tokens);
  const std::span<const Token> tokens = row.tokens;
  if (next < tokens.size()) {
    if (sampler.usable(output.logits)) output.token = tokens[next];
  } else {
    // Scores are those of all tokens.
    if (output.mask && row.request.logprobs_top && !sampler.usable(output.logits)) return;
    const std::span<const uint64_t> mask =
        output.mask ? output.mask->words() : std::span<const uint64_t>();
    output.token =
        sampler.sample(output.logits, row.request.sampling,
                       {tokens.first(prompt_tokens), tokens.subspan(prompt_tokens)}, mask);
  }
  if (!output.token || !row.request.logprobs_top) return;
  const TokenScores scores = sampler.score(output.logits, *output.token, *row.request.logprobs_top);
  output.scored.chosen = token_logprob(*output.token, scores.logprob);
  for (const TokenScore& one : scores.top)
    output.scored.top.push_back(token_logprob(one.token, one.logprob));
}

// The row leaves before its Done is called, so that what Done sees is settled.
void StepLoop::end(RowId id, llm::Outcome outcome) {
  if (plan_.contains(id)) plan_.remove(id);
  const auto found = rows_.find(id);
  ENSURE(found != rows_.end(), "row {} ends twice", id.value());
  if (auto* failure = std::get_if<llm::Failure>(&outcome))
    failure->usage = usage_so_far(found->second);
  const llm::Backend::Done done = std::move(found->second.request.done);
  const std::shared_ptr<RowGroup> group = found->second.request.group;
  if (found->second.mask) mask_filler_.drop(*found->second.mask);
  std::erase(kept_, id);
  revocable_.erase(id);
  if (found->second.stream) --streams_;
  rows_.erase(found);
  if (before_done_) before_done_();
  done(std::move(outcome));
  if (group && group->abandoned) abandoned_ = true;
}

void StepLoop::end_all(const llm::Failure& failure) {
  while (!rows_.empty())
    end(rows_.begin()->first, failure);
}

void StepLoop::fail_for_good(const Error& error) {
  broken_ = error.message;
  end_all(backend_failure(broken_));
}

void StepLoop::cancel_waiting() {
  std::vector<RowId> waiting;
  for (const auto& [id, row] : rows_) {
    const RowGroup* group = row.request.group.get();
    if (!row.started && (group == nullptr || !group->started)) waiting.push_back(id);
  }
  for (const RowId id : waiting)
    end(id, cancelled());
}

void StepLoop::end_unwanted() {
  std::vector<RowId> unwanted;
  for (const RowId id : revocable_) {
    if (rows_.at(id).request.unwanted.stop_requested()) unwanted.push_back(id);
  }
  for (const RowId id : unwanted)
    end(id, cancelled());
}

void StepLoop::end_abandoned() {
  if (!std::exchange(abandoned_, false)) return;
  std::vector<RowId> abandoned;
  for (const auto& [id, row] : rows_) {
    if (row.request.group && row.request.group->abandoned) abandoned.push_back(id);
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
  const PlanCounts counts = plan_.counts();
  const DeviceMemory memory = runner_.device_memory();
  return llm::BackendStats{.prompt_tokens = prompt_tokens_,
                           .cached_tokens = cached_tokens_,
                           .generated_tokens = generated_tokens_,
                           .forced_tokens = forced_tokens_,
                           .steps = steps_,
                           .preemptions = counts.preemptions,
                           .recomputed_tokens = counts.recomputed_tokens,
                           .rows_running = counts.rows_running,
                           .rows_waiting = counts.rows_waiting,
                           .cells_used = counts.cells_used,
                           .cells_resting = counts.cells_resting,
                           .cells_max = runner_.limits().cells_max,
                           .device_bytes_used = memory.used_bytes,
                           .device_bytes_max = memory.max_bytes};
}

}  // namespace windrow::engine
