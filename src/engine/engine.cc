#include "engine/engine.h"

#include <utility>

namespace windrow::engine {

Engine::Engine(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary,
               const Clock& clock, Duration step_target)
    : runner_(std::move(runner)),
      limits_(runner_->limits()),
      loop_(*runner_, vocabulary, clock, step_target),
      stats_(loop_.stats()),
      thread_([this] { run(); }) {}

Engine::~Engine() {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.close = true;
  }
  inbox_filled_.notify_one();
}

void Engine::submit(EngineRequest request) {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.requests.push_back(std::move(request));
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
  stats.rows_waiting += static_cast<int32_t>(inbox_.requests.size());
  return stats;
}

Engine::Inbox Engine::take_inbox(bool wait) {
  std::unique_lock lock(mutex_);
  stats_ = loop_.stats();
  if (wait) inbox_filled_.wait(lock, [&] { return !inbox_.empty(); });
  return std::exchange(inbox_, Inbox{});
}

void Engine::run() {
  bool idle = true;
  while (true) {
    Inbox inbox = take_inbox(idle);
    for (EngineRequest& request : inbox.requests)
      loop_.add(std::move(request));
    if (inbox.cancel_waiting) loop_.cancel_waiting();
    if (inbox.cancel_all || inbox.close) loop_.cancel_all();
    if (inbox.close) return;
    idle = !loop_.step();
  }
}

}  // namespace windrow::engine
