#include "engine/step_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/ensure.h"
#include "base/utf8.h"
#include "engine/sampler.h"

namespace windrow::engine {
namespace {

// So many rows in a row that each fail alone mean that the model is broken, not the rows.
constexpr int kFailuresInARowMax = 3;

llm::Failure cancelled() {
  return llm::Failure{.failure_class = llm::FailureClass::kCancelled,
                      .status = 499,
                      .code = "cancelled",
                      .message = "cancelled before it was answered"};
}

llm::Failure backend_failure(std::string_view why) {
  return llm::Failure{.failure_class = llm::FailureClass::kBackend,
                      .status = 503,
                      .code = "backend_unavailable",
                      .message = std::string(why)};
}

llm::Failure row_failure(std::string_view code, std::string message) {
  return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                      .status = 500,
                      .code = std::string(code),
                      .message = std::move(message)};
}

PlanLimits plan_limits(const RunnerLimits& limits) {
  ENSURE(limits.step_outputs_max >= limits.sequences_max,
         "{} outputs a step are too few for {} rows", limits.step_outputs_max,
         limits.sequences_max);
  return PlanLimits{.cells_max = limits.cells_max,
                    .sequences_max = limits.sequences_max,
                    .step_tokens_max = limits.step_tokens_max};
}

}  // namespace

StepLoop::StepLoop(ModelRunner& runner, const Vocabulary& vocabulary, const Clock& clock,
                   Duration step_target)
    : runner_(runner),
      vocabulary_(vocabulary),
      clock_(clock),
      plan_(plan_limits(runner.limits())),
      step_size_(step_target, runner.limits().step_tokens_max) {}

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
  const RowId id(next_row_++);
  plan_.add(id, prompt_tokens, request.output_tokens_max);
  std::vector<Token> tokens = std::move(request.prompt);
  AnswerText text(std::move(request.stop));
  rows_.emplace(id, Row{.request = std::move(request),
                        .tokens = std::move(tokens),
                        .prompt_tokens = prompt_tokens,
                        .text = std::move(text)});
}

bool StepLoop::step() {
  const StepPlan plan = plan_.next(step_size_.prefill_tokens_max());
  if (plan.slices.empty()) return false;
  run(plan);
  return true;
}

void StepLoop::run(const StepPlan& plan) {
  for (const SequenceId sequence : plan.forgotten)
    runner_.forget(sequence);
  const TimePoint start = clock_.now();
  std::vector<StepRow> step;
  step.reserve(plan.slices.size());
  for (const Slice& slice : plan.slices) {
    Row& row = rows_.at(slice.row);
    if (!row.started) {
      row.started = true;
      row.started_at = start;
    }
    step.push_back(StepRow{.sequence = slice.sequence,
                           .first = slice.first,
                           .tokens = std::span(row.tokens)
                                         .subspan(static_cast<size_t>(slice.first),
                                                  static_cast<size_t>(slice.tokens_count)),
                           .wants_logits = slice.wants_logits});
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
  } catch (const std::exception& error) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("the model's device failed: {}; results already written are safe, and "
                             "the same command continues",
                             error.what())};
  }
}

void StepLoop::step_ran(const StepPlan& plan, Duration duration) {
  failures_in_a_row_ = 0;
  ++steps_;
  plan_.step_ran(plan);
  int32_t prefill_tokens = 0;
  int32_t decoding_rows = 0;
  for (const Slice& slice : plan.slices) {
    if (slice.tokens_count > 1) {
      prefill_tokens += slice.tokens_count;
    } else {
      ++decoding_rows;
    }
    Row& row = rows_.at(slice.row);
    const int32_t prefilled = std::min(slice.first + slice.tokens_count, row.prompt_tokens);
    prompt_tokens_ += std::max(0, prefilled - row.prompt_tokens_counted);
    row.prompt_tokens_counted = std::max(row.prompt_tokens_counted, prefilled);
  }
  step_size_.step_took(prefill_tokens, decoding_rows, duration);
  size_t output = 0;
  for (const Slice& slice : plan.slices) {
    if (slice.wants_logits) answer_with(slice.row, output++);
  }
}

void StepLoop::step_failed(const StepPlan& plan, const Error& error) {
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

void StepLoop::answer_with(RowId id, size_t output) {
  Row& row = rows_.at(id);
  const llm::Sampling& sampling = row.request.sampling;
  const std::span<const float> logits = runner_.logits(output);
  const int32_t index = row.generated_tokens();
  const Token token = sample(logits, sampling, index);
  if (token < 0) {
    end(id, row_failure("engine_error",
                        "the model's logits are not numbers; its file may be damaged, or its "
                        "weights overflow the number format in use (try --kv-type f32)"));
    return;
  }
  if (index == 0) row.answering_since = clock_.now();
  ++generated_tokens_;
  row.tokens.push_back(token);
  if (row.request.want_tokens) {
    row.token_logprobs.push_back(static_cast<float>(log_probability(logits, token)));
  }
  if (vocabulary_.ends_answer(token)) {
    if (!row.request.ignore_eos) {
      finish(id, llm::FinishReason::kStop);
      return;
    }
  } else {
    std::string bytes;
    vocabulary_.append_bytes(token, bytes);
    if (row.text.append(bytes)) {
      finish(id, llm::FinishReason::kStop);
      return;
    }
  }
  if (index + 1 == row.request.output_tokens_max) {
    finish(id, llm::FinishReason::kLength);
    return;
  }
  plan_.extend(id);
}

void StepLoop::finish(RowId id, llm::FinishReason reason) {
  Row& row = rows_.at(id);
  const TimePoint now = clock_.now();
  llm::Answer answer{
      .text = utf8_repair(row.text.bytes()),
      .finish_reason = reason,
      .usage = {.prompt_tokens = row.prompt_tokens, .completion_tokens = row.generated_tokens()},
      .timings = {.queue_ms = milliseconds(row.started_at - row.request.submitted_at),
                  .prefill_ms = milliseconds(row.answering_since - row.started_at),
                  .decode_ms = milliseconds(now - row.answering_since)}};
  if (row.request.want_tokens) {
    answer.tokens.assign(row.tokens.begin() + row.prompt_tokens, row.tokens.end());
    answer.token_logprobs = std::move(row.token_logprobs);
  }
  end(id, std::move(answer));
}

// The row leaves before its Done is called, so that what Done sees is settled.
void StepLoop::end(RowId id, llm::Outcome outcome) {
  plan_.remove(id);
  const auto found = rows_.find(id);
  ENSURE(found != rows_.end(), "row {} ends twice", id.value());
  const llm::Backend::Done done = std::move(found->second.request.done);
  rows_.erase(found);
  done(std::move(outcome));
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
    if (!row.started) waiting.push_back(id);
  }
  for (const RowId id : waiting)
    end(id, cancelled());
}

void StepLoop::cancel_all() {
  end_all(cancelled());
}

llm::BackendStats StepLoop::stats() const {
  const PlanCounts counts = plan_.counts();
  const DeviceMemory memory = runner_.device_memory();
  return llm::BackendStats{.prompt_tokens = prompt_tokens_,
                           .generated_tokens = generated_tokens_,
                           .steps = steps_,
                           .preemptions = counts.preemptions,
                           .recomputed_tokens = counts.recomputed_tokens,
                           .rows_running = counts.rows_running,
                           .rows_waiting = counts.rows_waiting,
                           .cells_used = counts.cells_used,
                           .cells_max = runner_.limits().cells_max,
                           .device_bytes_used = memory.used_bytes,
                           .device_bytes_max = memory.max_bytes};
}

}  // namespace windrow::engine
