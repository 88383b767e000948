#include "engine/embed/embedder.h"

#include <new>
#include <utility>

namespace windrow::engine {

Embedder::Embedder(std::unique_ptr<EmbeddingRunner> runner, const Clock& clock,
                   EmbeddingOptions options, std::shared_ptr<DeviceThread> thread)
    : runner_(std::move(runner)),
      limits_(runner_->limits()),
      loop_(*runner_, clock, std::move(options)),
      stats_(loop_.stats()),
      budget_{.batch_tokens = loop_.batch_tokens()},
      thread_(thread != nullptr ? std::move(thread) : std::make_shared<DeviceThread>(clock)) {
  // Embeddings set no limit to a step of generation: they wait for one at most.
  task_ = thread_->join(*this, /*patience=*/std::nullopt);
}

Embedder::~Embedder() {
  thread_->leave(task_);
}

void Embedder::submit(EmbeddingWork work) {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.push_back(std::move(work));
  }
  thread_->wake(task_);
}

llm::BackendStats Embedder::stats() const {
  const std::scoped_lock lock(mutex_);
  llm::BackendStats stats = stats_;
  for (const EmbeddingWork& work : inbox_)
    stats.rows_waiting += static_cast<int32_t>(work.inputs.size());
  return stats;
}

BudgetReport Embedder::budget() const {
  const std::scoped_lock lock(mutex_);
  return budget_;
}

std::vector<EmbeddingWork> Embedder::take_inbox() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(inbox_, {});
}

void Embedder::publish() {
  const std::scoped_lock lock(mutex_);
  stats_ = loop_.stats();
  if (budget_.points != loop_.budget_points())
    budget_ = {.batch_tokens = loop_.batch_tokens(), .points = loop_.budget_points()};
}

// As Engine::run_pass.
Next Embedder::run_pass(const Turn& turn) {
  try {
    return run_one_pass(turn);
  } catch (const std::bad_alloc&) {
    loop_.end_out_of_memory();
    publish();
    return {.kind = Next::Kind::kTurn};
  }
}

Next Embedder::run_one_pass(const Turn& turn) {
  for (EmbeddingWork& work : take_inbox())
    loop_.add(std::move(work));
  publish();
  const Next next = loop_.step(turn);
  publish();
  return next;
}

void Embedder::end() {
  for (EmbeddingWork& work : take_inbox())
    loop_.add(std::move(work));
  loop_.cancel_all();
}

}  // namespace windrow::engine
