#include "dispatch/dispatcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ensure.h"
#include "dispatch/outcome_facts.h"

namespace windrow::dispatch {
namespace {

SchedulerOptions scheduler_options(const std::vector<DispatchUpstream>& upstreams,
                                   const DispatchOptions& options) {
  SchedulerOptions scheduler{.quotas = options.quotas,
                             .retry = {.attempts_max = std::max(options.attempts_max, 1),
                                       .backoff_base = options.backoff_base},
                             .lanes = options.lanes,
                             // One request is one call here.
                             .packer = {.rows_max = 1},
                             .router = options.router,
                             .cost_max = options.cost_max,
                             .seed = options.seed};
  for (const DispatchUpstream& upstream : upstreams) {
    scheduler.upstreams.push_back(
        {.concurrency = upstream.concurrency.value_or(ConcurrencyOptions{.fixed = 1}),
         .quota = upstream.quota});
  }
  return scheduler;
}

// There is nobody else to go to.
DispatchOptions never_left(DispatchOptions options) {
  options.router.failures_max = 0;
  return options;
}

// Requests that wait for the answer of an equal one: a bound of memory.
constexpr int32_t kFollowersMax = 10'000;

int64_t tokens_of(const llm::Outcome& outcome) {
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  const llm::Usage& usage = answer ? answer->usage : std::get<llm::Failure>(outcome).usage;
  return int64_t{usage.prompt_tokens} + usage.completion_tokens;
}

llm::Failure cancelled_failure() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "cancelled before it was sent"};
}

llm::Failure expired_failure() {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 408,
          .code = "deadline_exceeded",
          .message =
              "its deadline passed before it could be sent; give it more time, or send less "
              "beside it"};
}

}  // namespace

// The deeds that a thread does for a dispatcher. A backend may answer while a request is handed to
// it, which leads to more: they join the list instead of nesting, so that the stack does not grow
// with what waits.
struct Dispatcher::Running {
  Dispatcher* dispatcher;
  std::vector<Deed> deeds;
  Running* outer;
};

thread_local Dispatcher::Running* Dispatcher::running_ = nullptr;

Dispatcher::Dispatcher(llm::Backend& backend, DispatchOptions options)
    : Dispatcher({{.backend = &backend}}, never_left(std::move(options)), nullptr, nullptr) {}

Dispatcher::Dispatcher(std::vector<DispatchUpstream> upstreams, DispatchOptions options,
                       const Clock& clock, Waker& waker)
    : Dispatcher(std::move(upstreams), std::move(options), &clock, &waker) {}

Dispatcher::Dispatcher(std::vector<DispatchUpstream> upstreams, DispatchOptions options,
                       const Clock* clock, Waker* waker)
    : upstreams_(std::move(upstreams)),
      in_flight_max_(options.in_flight_max),
      waiting_max_(std::max(options.waiting_max, 0)),
      own_waker_(waker == nullptr ? std::make_unique<ThreadWaker>(own_clock_) : nullptr),
      clock_(clock == nullptr ? own_clock_ : *clock),
      waker_(waker == nullptr ? *own_waker_ : *waker),
      scheduler_(scheduler_options(upstreams_, options)) {
  waker_.start([this] { wake(); });
}

Dispatcher::~Dispatcher() {
  stop_admitting();
  wait_idle();
  waker_.stop();
}

// --- how many -----------------------------------------------------------------------------------

// Who waits for another's answer keeps nobody busy.
bool Dispatcher::has_room() const {
  const auto followers = static_cast<int32_t>(scheduler_.followers());
  return followers < kFollowersMax && in_flight_ - followers < room();
}

int32_t Dispatcher::room() const {
  int32_t sum = waiting_max_;
  for (size_t i = 0; i < upstreams_.size(); ++i) {
    const DispatchUpstream& upstream = upstreams_[i];
    if (upstream.concurrency) {
      sum += scheduler_.limit(UpstreamId(static_cast<uint32_t>(i)));
    } else {
      sum +=
          in_flight_max_ > 0 ? in_flight_max_ : std::max(upstream.backend->in_flight_target(), 1);
    }
  }
  return sum;
}

void Dispatcher::tell_limits() {
  for (size_t i = 0; i < upstreams_.size(); ++i) {
    const DispatchUpstream& upstream = upstreams_[i];
    if (upstream.concurrency) continue;
    scheduler_.set_limit(
        UpstreamId(static_cast<uint32_t>(i)),
        in_flight_max_ > 0 ? in_flight_max_ : std::max(upstream.backend->in_flight_target(), 1));
  }
}

int32_t Dispatcher::in_flight() const {
  const std::scoped_lock lock(mutex_);
  return in_flight_;
}

int32_t Dispatcher::in_flight_max() const {
  const std::scoped_lock lock(mutex_);
  return room();
}

std::vector<UpstreamReading> Dispatcher::readings() const {
  const std::scoped_lock lock(mutex_);
  std::vector<UpstreamReading> readings;
  readings.reserve(upstreams_.size());
  for (uint32_t i = 0; i < upstreams_.size(); ++i) {
    const UpstreamId id(i);
    readings.push_back({.in_flight = scheduler_.in_flight(id),
                        .in_flight_max = scheduler_.limit(id),
                        .health = scheduler_.health(id),
                        .finding = scheduler_.finding(id)});
  }
  return readings;
}

bool Dispatcher::budget_is_spent() const {
  const std::scoped_lock lock(mutex_);
  return scheduler_.budget_is_spent();
}

// --- decisions, with the lock -------------------------------------------------------------------

template <class Event>
Dispatcher::Deeds Dispatcher::decide(Event event) {
  Actions actions;
  tell_limits();
  event(clock_.now(), actions);
  waker_.wake_at(scheduler_.wake_at());
  changed_.notify_all();  // a limit may have grown
  return deeds_of(actions);
}

Dispatcher::Deeds Dispatcher::deeds_of(const Actions& actions) {
  Deeds deeds;
  deeds.reserve(actions.size());
  std::unordered_map<ItemId, llm::Outcome> shared;  // of those whose outcome others get too
  for (const Action& action : actions) {
    const auto* ended = std::get_if<Ended>(&action);
    if (ended == nullptr || ended->outcome_of == ended->item) continue;
    const auto leader = entries_.find(ended->outcome_of);
    ENSURE(leader != entries_.end() && leader->second.outcome, "item {} has no outcome to share",
           ended->outcome_of.value());
    shared.try_emplace(ended->outcome_of, *leader->second.outcome);
  }
  for (const Action& action : actions) {
    if (const auto* send = std::get_if<Send>(&action)) {
      ENSURE(send->items.size() == 1, "a call of {} items", send->items.size());
      ++starting_;
      deeds.emplace_back(Hand{.upstream = send->upstream,
                              .call = send->call,
                              .item = send->items.front(),
                              .request = entries_.at(send->items.front()).request,
                              .cancels_seen = cancels_});
    } else {
      deeds.emplace_back(finish(std::get<Ended>(action), shared));
    }
  }
  return deeds;
}

Dispatcher::Finish Dispatcher::finish(const Ended& ended,
                                      const std::unordered_map<ItemId, llm::Outcome>& shared) {
  const auto found = entries_.find(ended.item);
  Entry entry = std::move(found->second);
  entries_.erase(found);
  Finish finish{.done = std::move(entry.done),
                .result = {.outcome = {},
                           .attempts = ended.attempts.used + ended.attempts.refused,
                           .tokens = entry.tokens,
                           .earlier_failure = std::move(entry.earlier_failure)}};
  llm::Outcome& outcome = finish.result.outcome;
  switch (ended.how) {
    case ItemEnd::kAnswered:
    case ItemEnd::kFailed:
      outcome =
          ended.outcome_of == ended.item ? *std::move(entry.outcome) : shared.at(ended.outcome_of);
      break;
    case ItemEnd::kCancelled:
      outcome = entry.outcome ? *std::move(entry.outcome) : cancelled_failure();
      std::get<llm::Failure>(outcome).failure_class = llm::FailureClass::kCancelled;
      break;
    case ItemEnd::kExpired:
      outcome = expired_failure();
      break;
  }
  return finish;
}

// --- deeds, without it --------------------------------------------------------------------------

void Dispatcher::run(Deeds deeds) {
  for (Running* running = running_; running != nullptr; running = running->outer) {
    if (running->dispatcher != this) continue;
    std::ranges::move(deeds, std::back_inserter(running->deeds));
    return;
  }
  Running running{.dispatcher = this, .deeds = std::move(deeds), .outer = running_};
  running_ = &running;
  while (!running.deeds.empty()) {
    Deeds now = std::exchange(running.deeds, {});
    for (Deed& deed : now)
      std::visit([this](auto& it) { carry_out(std::move(it)); }, deed);
  }
  running_ = running.outer;
}

// The lock cannot be held while the backend takes the request: it may answer at once. So a cancel
// may have reached the backend before the request did, and is then repeated.
void Dispatcher::carry_out(Hand hand) {
  upstreams_[hand.upstream.value()].backend->submit(
      std::move(hand.request), [this, call = hand.call, item = hand.item](llm::Outcome outcome) {
        call_ended(call, item, std::move(outcome));
      });
  for (;;) {
    Cancel missed = Cancel::kNothing;
    {
      const std::scoped_lock lock(mutex_);
      if (cancels_ == hand.cancels_seen) {
        --starting_;
        changed_.notify_all();
        return;
      }
      hand.cancels_seen = cancels_;
      missed = cancelled_;
    }
    pass_on(missed);
  }
}

void Dispatcher::carry_out(Finish finish) {
  finish.done(std::move(finish.result));
  const std::scoped_lock lock(mutex_);
  --in_flight_;
  changed_.notify_all();
}

// --- events -------------------------------------------------------------------------------------

bool Dispatcher::submit(llm::Request request, WorkItem item, Cost expected, Done done) {
  Deeds deeds;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !admitting_ || has_room(); });
    if (!admitting_) return false;
    ++in_flight_;
    item.id = ItemId(++submitted_);
    entries_.emplace(item.id, Entry{.request = std::move(request), .done = std::move(done)});
    deeds = decide(
        [&](TimePoint now, Actions& actions) { scheduler_.submit(now, item, expected, actions); });
  }
  run(std::move(deeds));
  return true;
}

void Dispatcher::call_ended(CallId call, ItemId item, llm::Outcome outcome) {
  Deeds deeds;
  {
    const std::scoped_lock lock(mutex_);
    const CallEnd end = facts_of(outcome);
    Entry& entry = entries_.at(item);
    entry.tokens += tokens_of(outcome);
    if (const auto* before = entry.outcome ? std::get_if<llm::Failure>(&*entry.outcome) : nullptr)
      entry.earlier_failure = before->message;
    entry.outcome = std::move(outcome);
    deeds =
        decide([&](TimePoint now, Actions& actions) { scheduler_.ended(now, call, end, actions); });
  }
  run(std::move(deeds));
}

void Dispatcher::wake() {
  Deeds deeds;
  {
    const std::scoped_lock lock(mutex_);
    deeds = decide([&](TimePoint now, Actions& actions) { scheduler_.wake(now, actions); });
  }
  run(std::move(deeds));
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
  Deeds deeds;
  {
    const std::scoped_lock lock(mutex_);
    cancelled_ = std::max(cancelled_, what);
    ++cancels_;
    deeds = decide([&](TimePoint, Actions& actions) { scheduler_.cancel_waiting(actions); });
  }
  pass_on(what);
  run(std::move(deeds));
}

void Dispatcher::pass_on(Cancel what) {
  for (const DispatchUpstream& upstream : upstreams_) {
    if (what == Cancel::kAll) {
      upstream.backend->cancel_all();
    } else {
      upstream.backend->cancel_waiting();
    }
  }
}

void Dispatcher::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return in_flight_ == 0 && starting_ == 0; });
}

}  // namespace windrow::dispatch
