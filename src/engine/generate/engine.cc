#include "engine/generate/engine.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/host/cpu_count.h"

namespace windrow::engine {
namespace {

// More threads would wait for memory.
constexpr int32_t kSamplingThreadsMax = 8;

StepLoopOptions with_threads(StepLoopOptions options) {
  int32_t& count = options.sampling_threads.count;
  if (count == 0) count = std::min(usable_cores(), kSamplingThreadsMax);
  return options;
}

std::shared_ptr<DeviceThread> own_or(std::shared_ptr<DeviceThread> thread, const Clock& clock) {
  return thread != nullptr ? std::move(thread) : std::make_shared<DeviceThread>(clock);
}

}  // namespace

Engine::Engine(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary,
               const Clock& clock, StepLoopOptions options, std::shared_ptr<DeviceThread> thread,
               const StartWindow& start)
    : clock_(clock),
      start_(start),
      runner_(std::move(runner)),
      limits_(runner_->limits()),
      loop_(*runner_, vocabulary, clock, with_threads(options)),
      stats_(loop_.stats()),
      holds_(std::make_shared<PrefixHolds>([this] { thread_->wake(task_); })),
      thread_(own_or(std::move(thread), clock)) {
  // Publishes the statistics before each Done, so that its row is counted in them.
  loop_.set_before_done([this] {
    const llm::BackendStats stats = loop_.stats();
    const std::scoped_lock lock(mutex_);
    stats_ = stats;
  });
  task_ = thread_->join(*this, options.step_target);
}

Engine::~Engine() {
  holds_->close();
  thread_->leave(task_);
}

void Engine::submit(std::vector<EngineRequest> rows) {
  {
    const std::scoped_lock lock(mutex_);
    if (inbox_.empty()) first_row_at_ = clock_.now();
    for (EngineRequest& row : rows)
      inbox_.push_back(std::move(row));
  }
  thread_->wake(task_);
}

llm::BackendStats Engine::stats() const {
  const std::scoped_lock lock(mutex_);
  llm::BackendStats stats = stats_;
  stats.rows_waiting += static_cast<int32_t>(inbox_.size());
  return stats;
}

std::vector<EngineRequest> Engine::take_inbox() {
  const std::scoped_lock lock(mutex_);
  stats_ = loop_.stats();
  return std::exchange(inbox_, {});
}

// Until when the rows in the inbox of an idle engine wait for more; nothing: they do not.
std::optional<TimePoint> Engine::window_end() const {
  if (!idle_ || start_.window <= Duration::zero()) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  const auto rows_full = static_cast<size_t>(start_.rows > 0 ? start_.rows : limits_.rows_max);
  if (inbox_.empty() || inbox_.size() >= rows_full) return std::nullopt;
  const TimePoint end = first_row_at_ + start_.window;
  return end > clock_.now() ? std::optional(end) : std::nullopt;
}

// When an allocation fails and it is not known for which row, the rows of this model end and the
// process goes on.
Next Engine::run_pass(const Turn& turn) {
  try {
    return run_one_pass(turn);
  } catch (const std::bad_alloc&) {
    loop_.end_out_of_memory();
    return {.kind = Next::Kind::kTurn};
  }
}

Next Engine::run_one_pass(const Turn& turn) {
  if (const std::optional<TimePoint> end = window_end())
    return {.kind = Next::Kind::kTime, .at = *end};
  for (HoldChange& change : holds_->take())
    loop_.change(std::move(change));
  for (EngineRequest& row : take_inbox())
    loop_.add(std::move(row));
  idle_ = !loop_.step(turn.alone);
  if (!idle_) return {.kind = Next::Kind::kTurn};
  const std::scoped_lock lock(mutex_);
  stats_ = loop_.stats();
  return {};
}

void Engine::end() {
  for (EngineRequest& row : take_inbox())
    loop_.add(std::move(row));
  loop_.cancel_all();
}

}  // namespace windrow::engine
