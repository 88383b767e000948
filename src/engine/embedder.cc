#include "engine/embedder.h"

#include <utility>

namespace windrow::engine {

Embedder::Embedder(std::unique_ptr<EmbeddingRunner> runner, const Clock& clock,
                   std::optional<int32_t> batch_tokens)
    : runner_(std::move(runner)),
      limits_(runner_->limits()),
      loop_(*runner_, clock, batch_tokens),
      stats_(loop_.stats()),
      budget_{.batch_tokens = loop_.batch_tokens()},
      thread_([this] { run(); }) {}

Embedder::~Embedder() {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.close = true;
  }
  inbox_filled_.notify_one();
}

void Embedder::submit(EmbeddingWork work) {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.works.push_back(std::move(work));
  }
  inbox_filled_.notify_one();
}

void Embedder::cancel_waiting() {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.cancel_waiting = true;
  }
  inbox_filled_.notify_one();
}

void Embedder::cancel_all() {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.cancel_all = true;
  }
  inbox_filled_.notify_one();
}

llm::BackendStats Embedder::stats() const {
  const std::scoped_lock lock(mutex_);
  llm::BackendStats stats = stats_;
  for (const EmbeddingWork& work : inbox_.works)
    stats.rows_waiting += static_cast<int32_t>(work.inputs.size());
  return stats;
}

BudgetReport Embedder::budget() const {
  const std::scoped_lock lock(mutex_);
  return budget_;
}

Embedder::Inbox Embedder::take_inbox(bool wait) {
  std::unique_lock lock(mutex_);
  stats_ = loop_.stats();
  if (budget_.points != loop_.budget_points()) {
    budget_ = {.batch_tokens = loop_.batch_tokens(), .points = loop_.budget_points()};
  }
  if (wait) inbox_filled_.wait(lock, [&] { return !inbox_.empty(); });
  return std::exchange(inbox_, Inbox{});
}

void Embedder::run() {
  bool idle = false;  // it begins with measuring
  while (true) {
    Inbox inbox = take_inbox(idle);
    for (EmbeddingWork& work : inbox.works)
      loop_.add(std::move(work));
    if (inbox.cancel_waiting) loop_.cancel_waiting();
    if (inbox.cancel_all || inbox.close) loop_.cancel_all();
    if (inbox.close) return;
    idle = !loop_.step();
  }
}

}  // namespace windrow::engine
