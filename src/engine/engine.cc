#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "engine/cpu_count.h"

namespace windrow::engine {
namespace {

// More would wait for memory.
constexpr int32_t kSamplingThreadsMax = 8;

StepLoopOptions with_threads(StepLoopOptions options) {
  int32_t& count = options.sampling_threads.count;
  if (count == 0) count = std::min(usable_cores(), kSamplingThreadsMax);
  return options;
}

}  // namespace

Engine::Engine(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary,
               const Clock& clock, StepLoopOptions options)
    : runner_(std::move(runner)),
      limits_(runner_->limits()),
      loop_(*runner_, vocabulary, clock, with_threads(std::move(options))),
      stats_(loop_.stats()),
      thread_([this] { run(); }) {}

Engine::~Engine() {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.close = true;
  }
  inbox_filled_.notify_one();
}

void Engine::submit(std::vector<EngineRequest> rows) {
  {
    const std::scoped_lock lock(mutex_);
    for (EngineRequest& row : rows)
      inbox_.rows.push_back(std::move(row));
  }
  inbox_filled_.notify_one();
}

void Engine::cancel_waiting() {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.cancel_waiting = true;
  }
  inbox_filled_.notify_one();
}

void Engine::cancel_all() {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.cancel_all = true;
  }
  inbox_filled_.notify_one();
}

llm::BackendStats Engine::stats() const {
  const std::scoped_lock lock(mutex_);
  llm::BackendStats stats = stats_;
  stats.rows_waiting += static_cast<int32_t>(inbox_.rows.size());
  return stats;
}

Engine::Inbox Engine::take_inbox(bool wait) {
  std::unique_lock lock(mutex_);
  stats_ = loop_.stats();
  if (wait) inbox_filled_.wait(lock, [&] { return !inbox_.empty(); });
  return std::exchange(inbox_, Inbox{});
}

void Engine::run() {
  // Whoever hears of a row finds it counted.
  loop_.set_before_done([this] {
    const llm::BackendStats stats = loop_.stats();
    const std::scoped_lock lock(mutex_);
    stats_ = stats;
  });
  bool idle = true;
  while (true) {
    Inbox inbox = take_inbox(idle);
    for (EngineRequest& row : inbox.rows)
      loop_.add(std::move(row));
    if (inbox.cancel_waiting) loop_.cancel_waiting();
    if (inbox.cancel_all || inbox.close) loop_.cancel_all();
    if (inbox.close) return;
    idle = !loop_.step();
  }
}

}  // namespace windrow::engine
