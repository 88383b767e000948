#include "dispatch/dispatcher.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace windrow::dispatch {
namespace {

enum class Next : uint8_t {
  kEnd,     // the outcome is the last word
  kAgain,   // the next attempt may meet no failure
  kCancel,  // so it might, but nobody wants it any more
};

Next next_after(const llm::Outcome& outcome, bool attempts_left, bool cancelled) {
  const auto* failure = std::get_if<llm::Failure>(&outcome);
  const bool may_succeed_later = failure != nullptr &&
                                 failure->failure_class == llm::FailureClass::kTransient &&
                                 attempts_left;
  if (!may_succeed_later) return Next::kEnd;
  return cancelled ? Next::kCancel : Next::kAgain;
}

}  // namespace

struct Dispatcher::Attempt {
  llm::Request request;
  Done done;
  int32_t number = 1;
};

Dispatcher::Dispatcher(llm::Backend& backend, DispatchOptions options)
    : backend_(backend),
      attempts_max_(std::max(options.attempts_max, 1)),
      in_flight_max_(options.in_flight_max) {}

int32_t Dispatcher::in_flight_max() const {
  return in_flight_max_ > 0 ? in_flight_max_ : std::max(backend_.in_flight_target(), 1);
}

Dispatcher::~Dispatcher() {
  stop_admitting();
  wait_idle();
}

bool Dispatcher::submit(llm::Request request, Done done) {
  int64_t cancels_seen = 0;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !admitting_ || in_flight_ < in_flight_max(); });
    if (!admitting_) return false;
    ++in_flight_;
    ++starting_;
    cancels_seen = cancels_;
  }
  start(std::make_shared<Attempt>(std::move(request), std::move(done)), cancels_seen);
  return true;
}

// The lock cannot be held while the backend takes the request: it may answer at once. So a cancel
// may have reached the backend before the request did, and is then repeated.
void Dispatcher::start(const std::shared_ptr<Attempt>& attempt, int64_t cancels_seen) {
  backend_.submit(attempt->request,
                  [this, attempt](llm::Outcome outcome) { ended(attempt, std::move(outcome)); });
  for (;;) {
    Cancel missed = Cancel::kNothing;
    {
      const std::scoped_lock lock(mutex_);
      if (cancels_ == cancels_seen) {
        --starting_;
        changed_.notify_all();
        return;
      }
      cancels_seen = cancels_;
      missed = cancelled_;
    }
    pass_on(missed);
  }
}

void Dispatcher::ended(const std::shared_ptr<Attempt>& attempt, llm::Outcome outcome) {
  Next next = Next::kEnd;
  int64_t cancels_seen = 0;
  {
    const std::scoped_lock lock(mutex_);
    next = next_after(outcome, attempt->number < attempts_max_, cancelled_ != Cancel::kNothing);
    if (next == Next::kAgain) {
      ++starting_;
      cancels_seen = cancels_;
    }
  }
  if (next == Next::kAgain) {
    ++attempt->number;
    start(attempt, cancels_seen);
    return;
  }
  // Its attempts are not used up, so its failure is not the last word.
  if (next == Next::kCancel) {
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
  cancel(Cancel::kWaiting);
}

void Dispatcher::cancel_all() {
  cancel(Cancel::kAll);
}

void Dispatcher::cancel(Cancel what) {
  {
    const std::scoped_lock lock(mutex_);
    cancelled_ = std::max(cancelled_, what);
    ++cancels_;
  }
  pass_on(what);
}

void Dispatcher::pass_on(Cancel what) {
  if (what == Cancel::kAll) {
    backend_.cancel_all();
  } else {
    backend_.cancel_waiting();
  }
}

void Dispatcher::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return in_flight_ == 0 && starting_ == 0; });
}

int32_t Dispatcher::in_flight() const {
  const std::scoped_lock lock(mutex_);
  return in_flight_;
}

}  // namespace windrow::dispatch
