#include "dispatch/dispatcher.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace windrow::dispatch {

struct Dispatcher::Attempt {
  llm::Request request;
  Done done;
  int32_t number = 1;
};

Dispatcher::Dispatcher(llm::Backend& backend, DispatchOptions options)
    : backend_(backend),
      attempts_max_(std::max(options.attempts_max, 1)),
      in_flight_max_(options.in_flight_max > 0 ? options.in_flight_max
                                               : std::max(backend.in_flight_target(), 1)) {}

Dispatcher::~Dispatcher() {
  stop_admitting();
  wait_idle();
}

bool Dispatcher::submit(llm::Request request, Done done) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !admitting_ || in_flight_ < in_flight_max_; });
    if (!admitting_) return false;
    ++in_flight_;
  }
  start(std::make_shared<Attempt>(std::move(request), std::move(done)));
  return true;
}

void Dispatcher::start(const std::shared_ptr<Attempt>& attempt) {
  backend_.submit(attempt->request,
                  [this, attempt](llm::Outcome outcome) { ended(attempt, std::move(outcome)); });
}

bool Dispatcher::may_succeed_later(const Attempt& attempt, const llm::Outcome& outcome) const {
  const auto* failure = std::get_if<llm::Failure>(&outcome);
  return failure != nullptr && failure->failure_class == llm::FailureClass::kTransient &&
         attempt.number < attempts_max_;
}

bool Dispatcher::cancelled() const {
  const std::scoped_lock lock(mutex_);
  return cancelled_;
}

void Dispatcher::ended(const std::shared_ptr<Attempt>& attempt, llm::Outcome outcome) {
  if (may_succeed_later(*attempt, outcome)) {
    if (!cancelled()) {
      ++attempt->number;
      start(attempt);
      return;
    }
    // Its attempts are not used up, so its failure is not the last word.
    std::get<llm::Failure>(outcome).failure_class = llm::FailureClass::kCancelled;
  }
  attempt->done(DispatchResult{.outcome = std::move(outcome), .attempts = attempt->number});
  const std::scoped_lock lock(mutex_);
  --in_flight_;
  changed_.notify_all();
}

void Dispatcher::stop_admitting() {
  const std::scoped_lock lock(mutex_);
  admitting_ = false;
  changed_.notify_all();
}

void Dispatcher::cancel_waiting() {
  {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
  }
  backend_.cancel_waiting();
}

void Dispatcher::cancel_all() {
  {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
  }
  backend_.cancel_all();
}

void Dispatcher::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return in_flight_ == 0; });
}

int32_t Dispatcher::in_flight() const {
  const std::scoped_lock lock(mutex_);
  return in_flight_;
}

}  // namespace windrow::dispatch
