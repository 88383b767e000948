#include "engine/embed/embedding_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <utility>

#include "base/ensure.h"
#include "base/hash.h"
#include "engine/host/row_failures.h"

namespace windrow::engine {
namespace {

// When so many inputs in a row each fail alone, the model is broken, not the inputs.
constexpr int kEmbeddingFailuresInARowMax = 3;

// Tokens of each synthetic input of a measuring pass: a sentence or two.
constexpr int32_t kTypicalInputTokens = 32;

llm::Failure input_failure(size_t index, size_t inputs, std::string_view why) {
  return llm::Failure{
      .failure_class = llm::FailureClass::kRequest,
      .status = 500,
      .code = "engine_error",
      .message = inputs == 1 ? std::string(why) : fmt::format("input {}: {}", index, why)};
}

// Tokens from the middle of the vocabulary, which are mostly ordinary words.
std::vector<std::vector<Token>> synthetic_inputs(int32_t tokens, const EmbeddingLimits& limits) {
  const int32_t typical = std::min(kTypicalInputTokens, limits.input_tokens_max);
  const int32_t inputs_min = (tokens + typical - 1) / typical;
  const int32_t inputs = std::clamp(inputs_min, 1, limits.inputs_max);
  const int32_t third = std::max(limits.vocabulary_size / 3, 1);
  std::vector<std::vector<Token>> made(static_cast<size_t>(inputs));
  for (int32_t i = 0; i < tokens; ++i) {
    const Token token = std::min(third + (i * 7919) % third, limits.vocabulary_size - 1);
    made[static_cast<size_t>(i % inputs)].push_back(token);
  }
  return made;
}

bool all_finite(std::span<const float> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
}

// The largest pass whose synthetic inputs each fit.
int32_t measured_tokens_max(const EmbeddingLimits& limits) {
  const int64_t by_inputs = int64_t{limits.inputs_max} * limits.input_tokens_max;
  return static_cast<int32_t>(std::min<int64_t>(limits.batch_tokens_max, by_inputs));
}

}  // namespace

EmbeddingLoop::EmbeddingLoop(EmbeddingRunner& runner, const Clock& clock, EmbeddingOptions options)
    : runner_(runner),
      clock_(clock),
      options_(std::move(options)),
      search_(measured_tokens_max(runner.limits()), kSearchTime),
      batch_(runner.limits()) {
  if (options_.batch_tokens) search_.stop();
}

EmbeddingLoop::~EmbeddingLoop() {
  cancel_all();
}

void EmbeddingLoop::add(EmbeddingWork work) {
  if (!broken_.empty()) {
    work.done(backend_failure(broken_));
    return;
  }
  ENSURE(!work.inputs.empty(), "a request without inputs came in");
  arrivals_.arrived(work.submitted_at);
  const WorkId id(next_id_++);
  std::vector<std::vector<Token>> inputs = std::exchange(work.inputs, {});
  const size_t count = inputs.size();
  works_.emplace(id, Running{.work = std::move(work),
                             .inputs = {},
                             .result = {.vectors = std::vector<std::vector<float>>(count)},
                             .inputs_left = count});
  inputs_waiting_ += static_cast<int32_t>(count);
  for (size_t index = 0; index < count; ++index)
    add_input(std::move(inputs[index]), {.work = id, .index = index});
}

void EmbeddingLoop::add_input(std::vector<Token> tokens, const Use& use) {
  const uint64_t hash = hash64(std::string_view(reinterpret_cast<const char*>(tokens.data()),
                                                tokens.size() * sizeof(Token)));
  Running& running = works_.at(use.work);
  std::vector<InputId>& inputs_of_work = running.inputs;
  const llm::Priority priority = running.work.priority;
  const auto [first, last] = by_hash_.equal_range(hash);
  const auto equal = std::find_if(
      first, last, [&](const auto& entry) { return inputs_.at(entry.second).tokens == tokens; });
  if (equal != last) {
    inputs_.at(equal->second).uses.push_back(use);
    inputs_of_work.push_back(equal->second);
    batch_.wanted_by(equal->second, use.work, priority);
    return;
  }
  const InputId id(next_id_++);
  batch_.add(id, static_cast<int32_t>(tokens.size()), use.work, priority);
  by_hash_.emplace(hash, id);
  inputs_.emplace(id, Input{.tokens = std::move(tokens), .hash = hash, .uses = {use}});
  inputs_of_work.push_back(id);
}

Next EmbeddingLoop::step(const Turn& turn) {
  end_cancelled();
  if (measure(turn)) return {.kind = Next::Kind::kTurn};
  const EmbeddingBatch::Budget budget = this->budget(turn);
  if (batch_.waiting() == 0) {
    ran_ = has_waited_ = false;
    return {};
  }
  const DelayDecision decision = decide_now(turn, budget);
  if (decision.until) {
    ran_ = false;
    has_waited_ = true;
    return {.kind = Next::Kind::kTime, .at = *decision.until};
  }
  run(batch_.next(budget), decision.reason);
  ran_ = true;
  has_waited_ = false;
  return {.kind = Next::Kind::kTurn};
}

EmbeddingBatch::Budget EmbeddingLoop::budget(const Turn& turn) const {
  int32_t tokens = batch_tokens();
  if (turn.pass_max) {
    tokens = std::min(tokens,
                      pass_time_.tokens_within(*turn.pass_max, tokens, BudgetSearch::kTokensMin));
  }
  return {.tokens = tokens, .inputs = options_.batching_delay.batch_size_max};
}

DelayDecision EmbeddingLoop::decide_now(const Turn& turn,
                                        const EmbeddingBatch::Budget& budget) const {
  const TimePoint now = clock_.now();
  const Use& first = inputs_.at(batch_.oldest()).uses.front();
  return decide(now,
                {.oldest = works_.at(first.work).work.submitted_at,
                 .full = batch_.fills(budget),
                 .busy = ran_ || !turn.alone,
                 .has_waited = has_waited_,
                 .arriving = options_.arriving ? options_.arriving() : 0,
                 .pass_fixed = pass_time_.fixed()},
                arrivals_, options_.batching_delay);
}

// Before the first answer; with a turn that is too short for that, once there is nothing else to
// do.
bool EmbeddingLoop::measure(const Turn& turn) {
  const std::optional<int32_t> tokens = broken_.empty() ? search_.next() : std::nullopt;
  if (!tokens) return false;
  if (passes_ > 0 && batch_.waiting() > 0) return false;
  if (turn.pass_max &&
      pass_time_.tokens_within(*turn.pass_max, *tokens, BudgetSearch::kTokensMin) < *tokens)
    return false;
  const std::vector<std::vector<Token>> made = synthetic_inputs(*tokens, runner_.limits());
  const std::vector<std::span<const Token>> inputs(made.begin(), made.end());
  const TimePoint start = clock_.now();
  const Result<void> result = run_model(inputs);
  if (result) {
    const Duration duration = clock_.now() - start;
    search_.took(duration);
    // The first pass is a warm-up.
    if (!search_.points().empty()) pass_time_.took(*tokens, duration);
    return true;
  }
  // Real inputs will show the fault.
  search_.stop();
  if (result.error().kind == ErrorKind::kUnavailable) fail_for_good(result.error());
  return true;
}

void EmbeddingLoop::run(const std::vector<InputId>& pass, llm::StepReason reason) {
  const TimePoint start = clock_.now();
  std::vector<std::span<const Token>> inputs;
  inputs.reserve(pass.size());
  for (const InputId id : pass) {
    const Input& input = inputs_.at(id);
    inputs.emplace_back(input.tokens);
    for (const Use& use : input.uses) {
      Running& running = works_.at(use.work);
      if (running.started) continue;
      running.started = true;
      running.started_at = start;
    }
  }
  const Result<void> result = run_model(inputs);
  if (result) {
    pass_ran(pass, reason, clock_.now() - start);
  } else {
    pass_failed(pass, result.error());
  }
}

// Some devices (Vulkan) throw through the library when they are lost or out of memory.
Result<void> EmbeddingLoop::run_model(std::span<const std::span<const Token>> inputs) {
  try {
    return runner_.run(inputs);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kNoSpace,
                 "there was not memory enough for a forward pass; ask for less at once"};
  } catch (const std::exception& error) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("the model's device failed: {}", error.what())};
  }
}

void EmbeddingLoop::pass_ran(const std::vector<InputId>& pass, llm::StepReason reason,
                             Duration duration) {
  failures_in_a_row_ = 0;
  ++passes_;
  batch_.ran();
  llm::StepReport report{.kind = runner_.limits().pooling == Pooling::kRank ? llm::StepKind::kRank
                                                                            : llm::StepKind::kEmbed,
                         .reason = reason,
                         .rows_prefilling = static_cast<int32_t>(pass.size()),
                         .outputs = static_cast<int32_t>(pass.size()),
                         .duration = duration};
  for (const InputId id : pass) {
    const Input& input = inputs_.at(id);
    const auto tokens = static_cast<int32_t>(input.tokens.size());
    report.tokens += tokens;
    report.cached_tokens += tokens * static_cast<int32_t>(input.uses.size() - 1);
  }
  prompt_tokens_ += report.tokens;
  cached_tokens_ += report.cached_tokens;
  pass_time_.took(report.tokens, duration);
  if (options_.on_step) options_.on_step(report);
  for (size_t i = 0; i < pass.size(); ++i)
    take(pass[i], runner_.embedding(i));
}

// Removes an input that was in the batch or in a pass.
EmbeddingLoop::Input EmbeddingLoop::extract(InputId id) {
  auto node = inputs_.extract(id);
  const auto [first, last] = by_hash_.equal_range(node.mapped().hash);
  by_hash_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == id; }));
  return std::move(node.mapped());
}

void EmbeddingLoop::take(InputId id, std::span<const float> vector) {
  // Requests that ended in this pass, because another of their inputs failed, are gone.
  if (!inputs_.contains(id)) return;
  const Input input = extract(id);
  for (const Use& use : input.uses)
    give(use, static_cast<int32_t>(input.tokens.size()), vector);
}

void EmbeddingLoop::give(const Use& use, int32_t tokens, std::span<const float> vector) {
  const auto found = works_.find(use.work);
  if (found == works_.end()) return;  // the request has this input twice, and failed with the first
  Running& running = found->second;
  if (!all_finite(vector)) {
    end(use.work, input_failure(use.index, running.inputs.size(),
                                "the model's vector has something in it that is no number; its "
                                "file may be damaged, or its weights overflow the number format "
                                "in use (try --kv-type f32)"));
    return;
  }
  running.result.vectors[use.index].assign(vector.begin(), vector.end());
  running.tokens_computed += tokens;
  --inputs_waiting_;
  if (--running.inputs_left > 0) return;
  EmbeddingResult result = std::move(running.result);
  result.timings = {.queue_ms = milliseconds(running.started_at - running.work.submitted_at),
                    .prefill_ms = milliseconds(clock_.now() - running.started_at)};
  end(use.work, std::move(result));
}

void EmbeddingLoop::pass_failed(const std::vector<InputId>& pass, const Error& error) {
  const bool goes_again = batch_.failed();
  if (error.kind == ErrorKind::kUnavailable) {
    fail_for_good(error);
    return;
  }
  if (goes_again) return;
  if (++failures_in_a_row_ >= kEmbeddingFailuresInARowMax) {
    fail_for_good(error);
    return;
  }
  const Input input = extract(pass.front());
  for (const Use& use : input.uses) {
    const auto found = works_.find(use.work);
    if (found == works_.end()) continue;
    end(use.work, input_failure(use.index, found->second.inputs.size(), error.message));
  }
}

// Drops its inputs, but for those that other requests need too.
void EmbeddingLoop::leave(const Running& running, WorkId id) {
  inputs_waiting_ -= static_cast<int32_t>(running.inputs_left);
  for (const InputId input : running.inputs) {
    const auto found = inputs_.find(input);
    if (found == inputs_.end()) continue;
    std::erase_if(found->second.uses, [&](const Use& use) { return use.work == id; });
    if (found->second.uses.empty()) extract(input);
  }
}

// The work is removed before its Done is called, so that Done sees a consistent state.
void EmbeddingLoop::end(WorkId id, EmbeddingOutcome outcome) {
  const auto node = works_.extract(id);
  const Running& running = node.mapped();
  if (running.inputs_left > 0) {
    leave(running, id);
    batch_.remove_if([&](InputId input) { return !inputs_.contains(input); });
  }
  if (auto* failure = std::get_if<llm::Failure>(&outcome))
    *failure = with_usage(std::move(*failure), running);
  running.work.done(std::move(outcome));
}

void EmbeddingLoop::end_all(const llm::Failure& failure) {
  batch_.remove_if([](InputId) { return true; });
  inputs_.clear();
  by_hash_.clear();
  inputs_waiting_ = 0;
  const auto works = std::exchange(works_, {});
  for (const auto& [id, running] : works)
    running.work.done(with_usage(failure, running));
}

// Adds what the request has cost until now.
llm::Failure EmbeddingLoop::with_usage(llm::Failure failure, const Running& running) {
  failure.usage.prompt_tokens = running.tokens_computed;
  return failure;
}

void EmbeddingLoop::fail_for_good(const Error& error) {
  broken_ = error.message;
  end_all(backend_failure(broken_));
}

void EmbeddingLoop::end_cancelled() {
  std::vector<Running> cancelled_works;
  for (auto entry = works_.begin(); entry != works_.end();) {
    const Running& running = entry->second;
    const bool withdrawn = !running.started && running.work.withdrawn.stop_requested();
    if (!withdrawn && !running.work.unwanted.stop_requested()) {
      ++entry;
      continue;
    }
    leave(entry->second, entry->first);
    cancelled_works.push_back(std::move(entry->second));
    entry = works_.erase(entry);
  }
  if (cancelled_works.empty()) return;
  batch_.remove_if([&](InputId input) { return !inputs_.contains(input); });
  for (const Running& running : cancelled_works)
    running.work.done(with_usage(cancelled(), running));
}

void EmbeddingLoop::cancel_all() {
  end_all(cancelled());
}

void EmbeddingLoop::end_out_of_memory() {
  end_all(out_of_memory());
}

llm::BackendStats EmbeddingLoop::stats() const {
  return llm::BackendStats{.prompt_tokens = prompt_tokens_,
                           .cached_tokens = cached_tokens_,
                           .steps = passes_,
                           .rows_waiting = inputs_waiting_};
}

int32_t EmbeddingLoop::batch_tokens() const {
  return options_.batch_tokens.value_or(search_.best());
}

}  // namespace windrow::engine
