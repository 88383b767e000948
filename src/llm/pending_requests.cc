#include "llm/pending_requests.h"

#include <stop_token>

namespace windrow::llm {

// Calls back, once for each token. It is destroyed without a lock, because that waits for a
// callback that runs on another thread; on the thread of the callback itself it does not wait.
struct PendingRequests::Watch {
  struct Stopped {
    PendingRequests* owner;
    PendingId id;
    void operator()() const { owner->stopped(id); }
  };

  Watch(PendingRequests* owner, PendingId id, const BackendCall& call)
      : withdrawn(call.withdrawn, Stopped{owner, id}),
        unwanted(call.unwanted, Stopped{owner, id}) {}

  const std::stop_callback<Stopped> withdrawn;
  const std::stop_callback<Stopped> unwanted;
};

PendingRequests::Taken::Taken(BackendCall call, Done done, std::unique_ptr<Watch> watch)
    : call_(std::move(call)), done_(std::move(done)), watch_(std::move(watch)) {}
PendingRequests::Taken::~Taken() = default;
PendingRequests::Taken::Taken(Taken&&) noexcept = default;
PendingRequests::Taken& PendingRequests::Taken::operator=(Taken&&) noexcept = default;

std::pair<BackendCall, Backend::Done> PendingRequests::Taken::release() && {
  watch_.reset();
  return {std::move(call_), std::move(done_)};
}

void PendingRequests::Taken::end(Outcome outcome) && {
  watch_.reset();
  done_(std::move(outcome));
}

PendingRequests::PendingRequests(Failure cancelled, std::function<void(PendingId)> on_cancel)
    : cancelled_(std::move(cancelled)), on_cancel_(std::move(on_cancel)) {}

PendingRequests::~PendingRequests() {
  for (Taken& taken : take_all())
    std::move(taken).end(cancelled_);
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [this] { return callbacks_ == 0; });
}

PendingId PendingRequests::add(BackendCall call, Done done) {
  const std::optional<TimePoint> until = call.load_wait ? call.load_wait->until : std::nullopt;
  const std::scoped_lock lock(mutex_);
  const PendingId id(added_++);
  if (until) limits_.emplace(*until, id);
  calls_.emplace(
      id, Pending{.call = std::move(call), .done = std::move(done), .until = until, .watch = {}});
  return id;
}

void PendingRequests::watch(PendingId id) {
  BackendCall tokens;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    tokens.withdrawn = found->second.call.withdrawn;
    tokens.unwanted = found->second.call.unwanted;
  }
  if (!tokens.withdrawn.stop_possible() && !tokens.unwanted.stop_possible()) return;
  // May call back here, at once.
  auto watch = std::make_unique<Watch>(this, id, tokens);
  const std::scoped_lock lock(mutex_);
  // Where the call has left, `watch` is destroyed after the lock is released.
  if (const auto found = calls_.find(id); found != calls_.end())
    found->second.watch = std::move(watch);
}

void PendingRequests::stopped(PendingId id) {
  {
    const std::scoped_lock lock(mutex_);
    ++callbacks_;
  }
  if (on_cancel_) {
    on_cancel_(id);
  } else if (std::optional<Taken> taken = take(id)) {
    std::move(*taken).end(cancelled_);
  }
  const std::scoped_lock lock(mutex_);
  if (--callbacks_ == 0) returned_.notify_all();
}

PendingRequests::Taken PendingRequests::extract(Calls::iterator found) {
  Pending& pending = found->second;
  if (pending.until) limits_.erase({*pending.until, found->first});
  Taken taken(std::move(pending.call), std::move(pending.done), std::move(pending.watch));
  calls_.erase(found);
  return taken;
}

std::optional<PendingRequests::Taken> PendingRequests::take(PendingId id) {
  const std::scoped_lock lock(mutex_);
  const auto found = calls_.find(id);
  if (found == calls_.end()) return std::nullopt;
  return extract(found);
}

std::vector<PendingRequests::Taken> PendingRequests::take_all() {
  const std::scoped_lock lock(mutex_);
  std::vector<Taken> taken;
  taken.reserve(calls_.size());
  while (!calls_.empty())
    taken.push_back(extract(calls_.begin()));
  return taken;
}

std::optional<PendingRequests::Taken> PendingRequests::take_late(TimePoint now) {
  const std::scoped_lock lock(mutex_);
  if (limits_.empty() || now < limits_.begin()->first) return std::nullopt;
  return extract(calls_.find(limits_.begin()->second));
}

std::optional<TimePoint> PendingRequests::next_late() const {
  const std::scoped_lock lock(mutex_);
  return limits_.empty() ? std::nullopt : std::optional(limits_.begin()->first);
}

size_t PendingRequests::size() const {
  const std::scoped_lock lock(mutex_);
  return calls_.size();
}

}  // namespace windrow::llm
