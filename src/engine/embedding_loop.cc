#include "engine/embedding_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

// So many inputs in a row that each fail alone mean that the model is broken, not the inputs.
constexpr int kFailuresInARowMax = 3;

// What is timed for the budget is cut into inputs of so many tokens: a sentence or two.
constexpr int32_t kTypicalInputTokens = 32;

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

llm::Failure input_failure(size_t index, size_t inputs, std::string_view why) {
  return llm::Failure{
      .failure_class = llm::FailureClass::kRequest,
      .status = 500,
      .code = "engine_error",
      .message = inputs == 1 ? std::string(why) : fmt::format("input {}: {}", index, why)};
}

// Of ordinary words, as far as a vocabulary of any kind lets one say: the middle of it.
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

EmbeddingLoop::EmbeddingLoop(EmbeddingRunner& runner, const Clock& clock,
                             std::optional<int32_t> batch_tokens)
    : runner_(runner),
      clock_(clock),
      batch_tokens_(batch_tokens),
      search_(measured_tokens_max(runner.limits()), kSearchTime),
      batch_(runner.limits()) {
  if (batch_tokens_) search_.stop();
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
  const WorkId id(next_id_++);
  for (size_t index = 0; index < work.inputs.size(); ++index) {
    const InputId input(next_id_++);
    batch_.add(input, static_cast<int32_t>(work.inputs[index].size()));
    places_.emplace(input, Place{.work = id, .index = index});
  }
  const size_t inputs = work.inputs.size();
  works_.emplace(id, Running{.work = std::move(work),
                             .result = {.vectors = std::vector<std::vector<float>>(inputs)},
                             .inputs_left = inputs});
}

bool EmbeddingLoop::step() {
  if (measure()) return true;
  const std::vector<InputId> pass = batch_.next(batch_tokens());
  if (pass.empty()) return false;
  run(pass);
  return true;
}

bool EmbeddingLoop::measure() {
  const std::optional<int32_t> tokens = broken_.empty() ? search_.next() : std::nullopt;
  if (!tokens) return false;
  const std::vector<std::vector<Token>> made = synthetic_inputs(*tokens, runner_.limits());
  const std::vector<std::span<const Token>> inputs(made.begin(), made.end());
  const TimePoint start = clock_.now();
  const Result<void> result = run_model(inputs);
  if (result) {
    search_.took(clock_.now() - start);
    return true;
  }
  // Real inputs will show what it is.
  search_.stop();
  if (result.error().kind == ErrorKind::kUnavailable) fail_for_good(result.error());
  return true;
}

void EmbeddingLoop::run(const std::vector<InputId>& pass) {
  const TimePoint start = clock_.now();
  std::vector<std::span<const Token>> inputs;
  inputs.reserve(pass.size());
  for (const InputId id : pass) {
    const Place& place = places_.at(id);
    Running& running = works_.at(place.work);
    if (!running.started) {
      running.started = true;
      running.started_at = start;
    }
    inputs.emplace_back(running.work.inputs[place.index]);
  }
  const Result<void> result = run_model(inputs);
  if (result) {
    pass_ran(pass);
  } else {
    pass_failed(pass, result.error());
  }
}

// Some devices throw through the library when they are lost or out of memory (Vulkan does).
Result<void> EmbeddingLoop::run_model(std::span<const std::span<const Token>> inputs) {
  try {
    return runner_.run(inputs);
  } catch (const std::exception& error) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("the model's device failed: {}; results already written are safe, and "
                             "the same command continues",
                             error.what())};
  }
}

void EmbeddingLoop::pass_ran(const std::vector<InputId>& pass) {
  failures_in_a_row_ = 0;
  ++passes_;
  batch_.ran();
  for (size_t i = 0; i < pass.size(); ++i)
    take(pass[i], runner_.embedding(i));
}

void EmbeddingLoop::take(InputId id, std::span<const float> vector) {
  const auto found = places_.find(id);
  if (found == places_.end()) return;  // another input of its request, in this pass, failed
  const Place place = found->second;
  Running& running = works_.at(place.work);
  prompt_tokens_ += static_cast<int64_t>(running.work.inputs[place.index].size());
  if (!all_finite(vector)) {
    end(place.work, input_failure(place.index, running.work.inputs.size(),
                                  "the model's vector has something in it that is no number; its "
                                  "file may be damaged, or its weights overflow the number format "
                                  "in use (try --kv-type f32)"));
    return;
  }
  places_.erase(found);
  running.result.vectors[place.index].assign(vector.begin(), vector.end());
  if (--running.inputs_left > 0) return;
  EmbeddingResult result = std::move(running.result);
  result.timings = {.queue_ms = milliseconds(running.started_at - running.work.submitted_at),
                    .prefill_ms = milliseconds(clock_.now() - running.started_at)};
  end(place.work, std::move(result));
}

void EmbeddingLoop::pass_failed(const std::vector<InputId>& pass, const Error& error) {
  const bool goes_again = batch_.failed();
  if (error.kind == ErrorKind::kUnavailable) {
    fail_for_good(error);
    return;
  }
  if (goes_again) return;
  if (++failures_in_a_row_ >= kFailuresInARowMax) {
    fail_for_good(error);
    return;
  }
  const Place place = places_.at(pass.front());
  end(place.work,
      input_failure(place.index, works_.at(place.work).work.inputs.size(), error.message));
}

// The work leaves before its Done is called, so that what Done sees is settled.
void EmbeddingLoop::end(WorkId id, EmbeddingOutcome outcome) {
  auto node = works_.extract(id);
  const EmbeddingWork work = std::move(node.mapped().work);
  if (node.mapped().inputs_left > 0) {
    batch_.remove_if([&](InputId input) { return places_.at(input).work == id; });
    std::erase_if(places_, [&](const auto& place) { return place.second.work == id; });
  }
  work.done(std::move(outcome));
}

void EmbeddingLoop::end_all(const llm::Failure& failure) {
  batch_.remove_if([](InputId) { return true; });
  places_.clear();
  const auto works = std::exchange(works_, {});
  for (const auto& [id, running] : works)
    running.work.done(failure);
}

void EmbeddingLoop::fail_for_good(const Error& error) {
  broken_ = error.message;
  end_all(backend_failure(broken_));
}

void EmbeddingLoop::cancel_waiting() {
  std::vector<EmbeddingWork> waiting;
  for (auto place = works_.begin(); place != works_.end();) {
    if (place->second.started) {
      ++place;
      continue;
    }
    waiting.push_back(std::move(place->second.work));
    place = works_.erase(place);
  }
  batch_.remove_if([&](InputId input) { return !works_.contains(places_.at(input).work); });
  std::erase_if(places_, [&](const auto& place) { return !works_.contains(place.second.work); });
  for (const EmbeddingWork& work : waiting)
    work.done(cancelled());
}

void EmbeddingLoop::cancel_all() {
  end_all(cancelled());
}

llm::BackendStats EmbeddingLoop::stats() const {
  return llm::BackendStats{
      .prompt_tokens = prompt_tokens_, .steps = passes_, .rows_waiting = batch_.waiting()};
}

int32_t EmbeddingLoop::batch_tokens() const {
  return batch_tokens_.value_or(search_.best());
}

}  // namespace windrow::engine
