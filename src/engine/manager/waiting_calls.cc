#include "engine/manager/waiting_calls.h"

#include <utility>

#include "engine/host/row_failures.h"

namespace windrow::engine {
namespace {

void set_waits(const llm::BackendCall& call, bool waits) {
  if (call.load_wait) call.load_wait->waits = waits;
}

}  // namespace

WaitingCalls::WaitingCalls(size_t models, Owner owner, const Clock& clock)
    : owner_(std::move(owner)), clock_(clock) {
  for (uint32_t i = 0; i < models; ++i) {
    pending_.push_back(std::make_unique<llm::PendingRequests>(
        cancelled(), [this, i](llm::PendingId call) { owner_.cancelled(ModelId(i), call); }));
  }
  thread_ = std::jthread([this] { run(); });
}

WaitingCalls::~WaitingCalls() {
  stop();
}

llm::PendingId WaitingCalls::add(ModelId model, llm::BackendCall call, Done done) {
  set_waits(call, true);
  return pending(model).add(std::move(call), std::move(done));
}

std::optional<WaitingCalls::Taken> WaitingCalls::take(ModelId model, llm::PendingId call) {
  return pending(model).take(call);
}

std::optional<WaitingCalls::Late> WaitingCalls::take_late(TimePoint now) {
  for (uint32_t i = 0; i < pending_.size(); ++i) {
    if (auto taken = pending_[i]->take_late(now)) return Late{ModelId(i), *std::move(taken)};
  }
  return std::nullopt;
}

std::optional<TimePoint> WaitingCalls::next_late() const {
  std::optional<TimePoint> next;
  for (const auto& pending : pending_) {
    const std::optional<TimePoint> late = pending->next_late();
    if (late && (!next || *late < *next)) next = late;
  }
  return next;
}

std::vector<WaitingCalls::Taken> WaitingCalls::take_all() {
  std::vector<Taken> all;
  for (const auto& pending : pending_) {
    for (Taken& taken : pending->take_all())
      all.push_back(std::move(taken));
  }
  return all;
}

void WaitingCalls::admit_all(ModelId model) {
  release_all(model, std::nullopt);
}

void WaitingCalls::refuse_all(ModelId model, const llm::Failure& failure) {
  release_all(model, failure);
}

void WaitingCalls::refuse(Late call, llm::Failure failure) {
  const std::scoped_lock lock(mutex_);
  released_.push_back(
      {.model = call.model, .call = std::move(call.call), .failure = std::move(failure)});
  changed_.notify_one();
}

void WaitingCalls::release_all(ModelId model, const std::optional<llm::Failure>& failure) {
  std::vector<Taken> calls = pending(model).take_all();
  const std::scoped_lock lock(mutex_);
  for (Taken& call : calls)
    released_.push_back({.model = model, .call = std::move(call), .failure = failure});
  changed_.notify_one();
}

int32_t WaitingCalls::size(ModelId model) const {
  return static_cast<int32_t>(pending_.at(model.value())->size());
}

void WaitingCalls::wake_by(TimePoint at) {
  const std::scoped_lock lock(mutex_);
  if (wake_at_ && *wake_at_ <= at) return;
  wake_at_ = at;
  changed_.notify_one();
}

void WaitingCalls::wake_now() {
  const std::scoped_lock lock(mutex_);
  wake_now_ = true;
  changed_.notify_one();
}

void WaitingCalls::tick_at(std::optional<TimePoint> at) {
  const std::scoped_lock lock(mutex_);
  wake_at_ = at;
}

void WaitingCalls::watch(ModelId model, llm::PendingId call) {
  pending(model).watch(call);
}

void WaitingCalls::end(Taken call, llm::Failure failure) {
  set_waits(call.call(), false);
  std::move(call).end(std::move(failure));
}

void WaitingCalls::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

// --- the thread ---------------------------------------------------------------------------------

void WaitingCalls::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    await(lock);
    while (!released_.empty()) {
      Released released = std::move(released_.front());
      released_.pop_front();
      lock.unlock();
      hand_over(std::move(released));
      lock.lock();
    }
    if (stopping_) return;
    wake_now_ = false;
    lock.unlock();
    owner_.tick();
    lock.lock();
  }
}

void WaitingCalls::await(std::unique_lock<std::mutex>& lock) {
  while (released_.empty() && !wake_now_ && !stopping_) {
    if (!wake_at_) {
      changed_.wait(lock);
      continue;
    }
    const Duration left = *wake_at_ - clock_.now();
    if (left <= Duration{}) return;
    changed_.wait_for(lock, left);
  }
}

void WaitingCalls::hand_over(Released released) {
  if (released.failure) {
    end(std::move(released.call), *std::move(released.failure));
    return;
  }
  set_waits(released.call.call(), false);
  auto [call, done] = std::move(released.call).release();
  owner_.admit(released.model, std::move(call), std::move(done));
}

}  // namespace windrow::engine
