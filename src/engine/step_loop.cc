#include "engine/step_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/ensure.h"
#include "base/utf8.h"
#include "engine/sampler.h"
#include "engine/structure/forced_run.h"

namespace windrow::engine {
namespace {

// So many rows in a row that each fail alone mean that the model is broken, not the rows.
constexpr int kFailuresInARowMax = 3;

// Of a text that comes in any case so much is looked at; what is longer comes in pieces.
constexpr size_t kForcedBytesMax = 1024;

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

llm::Failure too_complex() {
  return {.code = "structure_too_complex",
          .message =
              "the structure can be read in too many ways at once to go on here; write it "
              "with fewer repetitions inside each other, or so that one reading is left",
          .param = "response_format"};
}

PlanLimits plan_limits(const RunnerLimits& limits) {
  return PlanLimits{.cells_max = limits.cells_max,
                    .rows_max = limits.rows_max,
                    .sequences_max = limits.sequences_max,
                    .step_tokens_max = limits.step_tokens_max,
                    .step_outputs_max = limits.step_outputs_max,
                    .sharing = limits.sharing,
                    .compact_cells_max = limits.compact_cells_max,
                    .mixes = limits.mixes};
}

}  // namespace

StepLoop::StepLoop(ModelRunner& runner, const Vocabulary& vocabulary, const Clock& clock,
                   StepLoopOptions options)
    : runner_(runner),
      vocabulary_(vocabulary),
      clock_(clock),
      plan_(plan_limits(runner.limits())),
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
  if (row.guide) {
    row.ending = say_forced(row);
    if (!row.ending) row.mask = mask_filler_.want(row.guide);
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
       .keep = row.request.keep});
}

bool StepLoop::step(bool alone) {
  end_unwanted();
  end_abandoned();
  sample_kept();
  const int32_t tokens_max = step_size_.prefill_tokens_max();
  const StepPlan plan = plan_.next(tokens_max, alone ? step_size_.lone_tokens_max() : tokens_max);
  for (const MemoryChange& change : plan.changes)
    runner_.change(change);
  if (!plan.slices.empty()) {
    run(plan);
    return true;
  }
  if (kept_.empty()) return false;
  wait_for_kept();
  return true;
}

void StepLoop::run(const StepPlan& plan) {
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
  llm::StepReport report{.duration = duration};
  int32_t prefill_tokens = 0;
  int32_t decoding_rows = 0;
  for (const Slice& slice : plan.slices) {
    if (slice.tokens_count > 1) {
      prefill_tokens += slice.tokens_count;
    } else {
      ++decoding_rows;
    }
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

std::vector<StepLoop::Output> StepLoop::outputs_of(const StepPlan& plan) const {
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

// Outputs whose masks are not there in time go: their rows keep the logits.
void StepLoop::take_masks(std::vector<Output>& outputs) {
  const auto is_sampled = [&](const Output& output) {
    return output.row->mask && !output.row->ending &&
           output.position + 1 == static_cast<Position>(output.row->tokens.size());
  };
  std::vector<std::shared_ptr<WantedMask>> wanted;
  for (const Output& output : outputs) {
    if (is_sampled(output)) wanted.push_back(output.row->mask);
  }
  if (wanted.empty()) return;
  mask_filler_.wait(wanted);
  std::erase_if(outputs, [&](Output& output) {
    if (!is_sampled(output)) return false;
    output.mask = mask_filler_.mask(*output.row->mask);
    if (output.mask) return false;
    rows_.at(output.id).kept_logits.assign(output.logits.begin(), output.logits.end());
    kept_.push_back(output.id);
    return true;
  });
}

// Rows that sat out and whose masks are there now.
void StepLoop::sample_kept() {
  for (const RowId id : std::exchange(kept_, {})) {
    const auto found = rows_.find(id);
    if (found == rows_.end()) continue;
    Row& row = found->second;
    auto mask = mask_filler_.mask(*row.mask);
    if (!mask) {
      kept_.push_back(id);
      continue;
    }
    const std::vector<float> logits = std::exchange(row.kept_logits, {});
    Output output{.id = id,
                  .row = &row,
                  .position = static_cast<Position>(row.tokens.size()) - 1,
                  .logits = logits,
                  .mask = std::move(mask)};
    judge(output, samplers_.front());
    take(output);
    tell(id);
  }
}

void StepLoop::wait_for_kept() {
  std::vector<std::shared_ptr<WantedMask>> wanted;
  wanted.reserve(kept_.size());
  for (const RowId id : kept_)
    wanted.push_back(rows_.at(id).mask);
  mask_filler_.wait(wanted);
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

// On any of the workers: reads what the engine thread leaves alone meanwhile.
void StepLoop::judge(Output& output, Sampler& sampler) const {
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

void StepLoop::take(Output& output) {
  const auto found = rows_.find(output.id);
  if (found == rows_.end()) return;  // an earlier output of this step ended it
  Row& row = found->second;
  if (!output.token) {
    const bool nothing_allowed = output.mask && output.mask->count() == 0;
    if (nothing_allowed && row.guide->too_complex()) {
      end(output.id, too_complex());
      return;
    }
    end(output.id,
        nothing_allowed
            ? llm::Failure{.code = "unsupported_by_model",
                           .message = "the model's vocabulary has no token for what has to come "
                                      "next under this structure",
                           .param = "response_format"}
            : row_failure(
                  "engine_error",
                  "the model's logits are not numbers; its file may be damaged, or its weights "
                  "overflow the number format in use (try --kv-type f32)"));
    return;
  }
  if (row.request.logprobs_top) row.scored.push_back(std::move(output.scored));
  const auto tokens = static_cast<Position>(row.tokens.size());
  if (output.position + 1 == tokens) {
    take_token(output.id, row, *output.token);
  } else if (row.ending && output.position + 2 == tokens) {
    finish(output.id, *row.ending);
  }
}

void StepLoop::take_token(RowId id, Row& row, Token token) {
  if (!row.answering_since) row.answering_since = clock_.now();
  const size_t said_before = row.tokens.size();
  std::optional<llm::FinishReason> ended = say(row, token);
  if (!ended && row.guide) ended = say_forced(row);
  go_on(id, row, ended, said_before);
}

// The row has said more: it ends, or the model sees what is new.
void StepLoop::go_on(RowId id, Row& row, std::optional<llm::FinishReason> ended,
                     size_t said_before) {
  if (row.too_complex) {
    end(id, too_complex());
    return;
  }
  const auto said = static_cast<int32_t>(row.tokens.size() - said_before);
  const bool scores = row.request.logprobs_top.has_value();
  if (!ended) {
    plan_.extend(id, said, scores);
    if (row.guide) row.mask = mask_filler_.want(row.guide);
  } else if (scores && said > 1) {
    // The tokens that were forced have no scores yet.
    row.ending = ended;
    plan_.extend(id, said - 1, true);
  } else {
    finish(id, *ended);
  }
}

// The answer has one more token. Returns how it ends, if it does.
std::optional<llm::FinishReason> StepLoop::say(Row& row, Token token) {
  ++generated_tokens_;
  row.tokens.push_back(token);
  const std::optional<llm::FinishReason> ended = say_text(row, token);
  if (row.stream) {
    row.stream->token_said(row.text.bytes().size(),
                           row.guide ? row.guide->speech_begin() : std::nullopt);
  }
  if (ended) return ended;
  if (row.generated_tokens() == row.request.output_tokens_max) return llm::FinishReason::kLength;
  return std::nullopt;
}

std::optional<llm::FinishReason> StepLoop::say_text(Row& row, Token token) {
  if (vocabulary_.ends_answer(token)) {
    if (!row.request.ignore_eos) return llm::FinishReason::kStop;
  } else {
    std::string bytes;
    if (std::ranges::find(row.request.shown_tokens, token) != row.request.shown_tokens.end()) {
      vocabulary_.append_piece(token, bytes);
    } else {
      vocabulary_.append_bytes(token, bytes);
    }
    if (row.text.append(bytes)) {
      row.stopped = true;
      return llm::FinishReason::kStop;
    }
    if (row.guide) {
      const bool accepted = row.guide->accept(token, bytes);
      ENSURE(accepted || row.guide->too_complex(), "token {} was allowed and is not accepted",
             token);
      if (!accepted) {
        row.too_complex = true;
        return llm::FinishReason::kStop;
      }
      if (row.guide->must_end()) return llm::FinishReason::kStop;
    }
  }
  return std::nullopt;
}

// What comes next in any case is said at once.
std::optional<llm::FinishReason> StepLoop::say_forced(Row& row) {
  if (!row.request.form->force) return std::nullopt;
  const std::string text = row.guide->forced_text(kForcedBytesMax);
  if (text.empty()) return std::nullopt;
  for (const Token token : forced_tokens(
           row.tokens,
           {.text = text,
            .is_end = row.guide->ends_behind(text),
            .may_cross_end = [&](size_t at) { return row.guide->may_cross_end(text, at); }},
           vocabulary_, row.request.form->grammar->tables())) {
    ++forced_tokens_;
    if (const auto ended = say(row, token)) return ended;
  }
  return std::nullopt;
}

llm::TokenLogprob StepLoop::token_logprob(Token token, double logprob) const {
  llm::TokenLogprob one{.token = token, .logprob = static_cast<float>(logprob)};
  vocabulary_.append_piece(token, one.bytes);
  return one;
}

std::unique_ptr<AnswerStream> StepLoop::stream_of(const Row& row) {
  const EngineRequest& request = row.request;
  const std::string before = row.guide ? utf8_repair(request.text_before) : request.text_before;
  StreamedAnswer answer{
      .choice = request.choice,
      .text_before = before,
      .lists_tokens = request.logprobs_top.has_value(),
      .prompt_tokens = request.score_prompt ? static_cast<size_t>(row.prompt_tokens) : 0};
  if (row.guide) {
    answer.guided = true;
    answer.reasoning = request.form->reasoning;
    answer.prompt_end = request.form->prompt_end;
    answer.speech_begin = row.guide->speech_begin();
  } else if (request.reasoning) {
    answer.reasoning = request.reasoning->format;
    answer.prompt_end = request.reasoning->prompt_end;
  }
  return std::make_unique<AnswerStream>(answer);
}

// Who listens to the row hears what is new, but nothing after the Done of its request.
void StepLoop::tell(RowId id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return;
  Row& row = found->second;
  if (!row.stream || (row.request.group && row.request.group->abandoned)) return;
  if (std::optional<llm::Piece> piece = row.stream->next(row.text, row.scored))
    row.request.listener->on_piece(*std::move(piece));
}

void StepLoop::finish(RowId id, llm::FinishReason reason) {
  Row& row = rows_.at(id);
  const TimePoint now = clock_.now();
  const TimePoint answering_since = row.answering_since.value_or(now);
  llm::Answer answer{
      .choices = {{.finish_reason = reason, .tokens = std::move(row.scored)}},
      .usage = {.prompt_tokens = row.prompt_tokens,
                .completion_tokens = row.generated_tokens(),
                .cached_tokens = row.cached_tokens},
      .timings = {.queue_ms = milliseconds(row.started_at - row.request.submitted_at),
                  .prefill_ms = milliseconds(answering_since - row.started_at),
                  .decode_ms = milliseconds(now - answering_since)}};
  llm::Choice& choice = answer.choices.front();
  if (row.guide) {
    const bool whole = reason == llm::FinishReason::kStop && !row.stopped;
    ENSURE(!whole || row.guide->can_end(), "row {} ended before its structure was whole",
           id.value());
    choice.structure = whole ? llm::StructureLabel::kValid : llm::StructureLabel::kTruncated;
    answer.truncated = !whole;
  }
  describe(row, choice);
  if (row.stream && !(row.request.group && row.request.group->abandoned))
    row.request.listener->on_piece(row.stream->last(choice));
  end(id, std::move(answer));
}

// What was thought and what was said.
void StepLoop::describe(const Row& row, llm::Choice& choice) {
  if (!row.guide && !row.request.reasoning) {
    choice.text = utf8_repair(row.request.text_before + row.text.bytes());
    return;
  }
  const chat::SplitAnswer split =
      row.guide ? row.guide->split(row.text.bytes())
                : chat::split_reasoning(row.request.reasoning->format,
                                        row.request.reasoning->prompt_end, row.text.bytes());
  const std::string before = utf8_repair(row.request.text_before);
  choice.text = before + utf8_repair(split.content);
  if (split.reasoning) choice.reasoning = utf8_repair(*split.reasoning);
  if (row.guide) choice.prompt_bytes = before.size();
}

// The row leaves before its Done is called, so that what Done sees is settled.
void StepLoop::end(RowId id, llm::Outcome outcome) {
  if (plan_.contains(id)) plan_.remove(id);
  const auto found = rows_.find(id);
  ENSURE(found != rows_.end(), "row {} ends twice", id.value());
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
