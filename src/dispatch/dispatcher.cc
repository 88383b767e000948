#include "dispatch/dispatcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ensure.h"
#include "dispatch/outcome_facts.h"
#include "dispatch/wake_rule.h"
#include "llm/packed_inputs.h"

namespace windrow::dispatch {
namespace {

SchedulerOptions scheduler_options(const std::vector<DispatchUpstream>& upstreams,
                                   const DispatchOptions& options) {
  SchedulerOptions scheduler{.quotas = options.quotas,
                             .retry = {.attempts_max = std::max(options.attempts_max, 1),
                                       .backoff_base = options.backoff_base},
                             .lanes = options.lanes,
                             .packer = options.packer,
                             .router = options.router,
                             .cost_max = options.cost_max,
                             .seed = options.seed};
  for (const DispatchUpstream& upstream : upstreams) {
    scheduler.upstreams.push_back(
        {.concurrency = upstream.concurrency.value_or(ConcurrencyOptions{.fixed = 1}),
         .quota = upstream.quota,
         .pack_rows_max = upstream.pack_rows_max});
  }
  return scheduler;
}

// What the cache knows an item by.
Hash128 question_of(const Hash128& same_answer, const std::string& scope) {
  return hash128(to_hex(same_answer.low) + to_hex(same_answer.high) + scope);
}

int32_t waiting_max_of(const DispatchOptions& options) {
  const int32_t packs = options.packer.rows_max > 1 ? 2 * options.packer.rows_max : 0;
  return std::max({options.waiting_max, packs, 0});
}

// There is nobody else to go to.
DispatchOptions never_left(DispatchOptions options) {
  options.router.failures_max = 0;
  return options;
}

// Requests that wait for the answer of an equal one: a bound of memory.
constexpr int32_t kFollowersMax = 10'000;

const llm::Usage& usage_of(const llm::Outcome& outcome) {
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  return answer ? answer->usage : std::get<llm::Failure>(outcome).usage;
}

// Questions that may be remembered beyond those that are waited for.
constexpr size_t kAskedKept = 1000;

int64_t tokens_of(const llm::Outcome& outcome) {
  const llm::Usage& usage = usage_of(outcome);
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
      waiting_max_(waiting_max_of(options)),
      coalesce_(options.coalesce),
      cache_(options.cache),
      cache_scope_(options.cache_scope),
      cost_of_(options.cost_of),
      on_budget_spent_(options.on_budget_spent),
      on_batch_(options.on_batch),
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

// Who waits for another's answer keeps nobody busy, and a call of several does so once.
int32_t Dispatcher::free_places() const {
  const auto followers = static_cast<int32_t>(scheduler_.followers());
  const auto packed = static_cast<int32_t>(scheduler_.items_out() - scheduler_.calls_out());
  return followers < kFollowersMax ? room() - (in_flight_ - followers - packed) : 0;
}

// What is out takes a place, and what is to go again will.
bool Dispatcher::has_room_for(Urgency urgency) const {
  const size_t taken = scheduler_.backlog(urgency) + scheduler_.calls_out();
  return scheduler_.followers() < kFollowersMax && taken < static_cast<size_t>(room());
}

void Dispatcher::tell_those_who_wait() {
  if (submitters_waiting_ > 0) {
    if (is_worth_waking(free_places(), waiting_max_, scheduler_.waiting())) room_grew_.notify_all();
  }
  if (is_idle()) became_idle_.notify_all();
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

int32_t Dispatcher::submitters_waiting() const {
  const std::scoped_lock lock(mutex_);
  return submitters_waiting_;
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

QueueReading Dispatcher::queue() const {
  const std::scoped_lock lock(mutex_);
  return scheduler_.queue(clock_.now());
}

DispatchCounts Dispatcher::counts() const {
  const std::scoped_lock lock(mutex_);
  return {scheduler_.counts(), cached_, scheduler_.spent()};
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
  tell_those_who_wait();  // a limit may have grown
  Deeds deeds = deeds_of(actions);
  if (scheduler_.budget_is_spent() && !std::exchange(told_of_budget_, true))
    deeds.emplace_back(BudgetSpent{});
  return deeds;
}

Dispatcher::Deeds Dispatcher::deeds_of(const Actions& actions) {
  Deeds deeds;
  deeds.reserve(actions.size());
  // Of those whose outcome others get too: one copy, however many they are.
  SharedOutcomes shared;
  for (const Action& action : actions) {
    const auto* ended = std::get_if<Ended>(&action);
    if (ended == nullptr || ended->outcome_of == ended->item) continue;
    const auto leader = entries_.find(ended->outcome_of);
    ENSURE(leader != entries_.end() && leader->second.outcome, "item {} has no outcome to share",
           ended->outcome_of.value());
    std::shared_ptr<const llm::Outcome>& outcome = shared[ended->outcome_of];
    if (!outcome) outcome = std::make_shared<const llm::Outcome>(*leader->second.outcome);
  }
  for (const Action& action : actions) {
    if (const auto* send = std::get_if<Send>(&action)) {
      ++starting_;
      Hand hand{.send = *send, .requests = {}, .cancels_seen = cancels_};
      hand.requests.reserve(send->items.size());
      for (const ItemId item : send->items)
        hand.requests.push_back(entries_.at(item).request);
      deeds.emplace_back(std::move(hand));
    } else {
      deeds.emplace_back(finish(std::get<Ended>(action), shared));
    }
  }
  return deeds;
}

Dispatcher::Finish Dispatcher::finish(const Ended& ended, const SharedOutcomes& shared) {
  const auto found = entries_.find(ended.item);
  Entry entry = std::move(found->second);
  entries_.erase(found);
  Finish finish{.done = std::move(entry.done),
                .result = {.outcome = {},
                           .attempts = ended.attempts.used + ended.attempts.refused,
                           .tokens = entry.tokens,
                           .cost = entry.cost,
                           .earlier_failure = std::move(entry.earlier_failure),
                           .source = ended.outcome_of == ended.item ? OutcomeSource::kAsked
                                                                    : OutcomeSource::kShared}};
  llm::Outcome& outcome = finish.result.outcome;
  switch (ended.how) {
    case ItemEnd::kAnswered:
    case ItemEnd::kFailed:
      if (ended.outcome_of == ended.item) {
        outcome = *std::move(entry.outcome);
      } else {
        finish.shared = shared.at(ended.outcome_of);
      }
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
  const Send& send = hand.send;
  if (on_batch_ && send.reason != PackReason::kAlone) {
    on_batch_({.upstream = send.upstream,
               .rows = static_cast<int32_t>(send.items.size()),
               .tokens = send.tokens,
               .reason = send.reason});
  }
  OpenCall call{
      .id = send.call, .items = send.items, .requests = std::move(hand.requests), .sizes = {}};
  llm::PackedRequest packed;
  if (call.requests.size() == 1) {
    packed.request = *call.requests.front();
  } else {
    std::vector<const llm::Request*> requests;
    requests.reserve(call.requests.size());
    for (const auto& request : call.requests)
      requests.push_back(request.get());
    packed = llm::pack_requests(requests);
    call.sizes = std::move(packed.sizes);
  }
  upstreams_[send.upstream.value()].backend->submit(
      std::move(packed.request), [this, call = std::move(call)](llm::Outcome outcome) {
        call_ended(call, std::move(outcome));
      });
  for (;;) {
    Cancel missed = Cancel::kNothing;
    {
      const std::scoped_lock lock(mutex_);
      if (cancels_ == hand.cancels_seen) {
        --starting_;
        tell_those_who_wait();
        return;
      }
      hand.cancels_seen = cancels_;
      missed = cancelled_;
    }
    pass_on(missed);
  }
}

void Dispatcher::carry_out(Finish finish) {
  if (finish.shared) finish.result.outcome = *finish.shared;
  finish.done(std::move(finish.result));
  const std::scoped_lock lock(mutex_);
  --in_flight_;
  tell_those_who_wait();
}

void Dispatcher::carry_out(BudgetSpent) {
  if (on_budget_spent_) on_budget_spent_();
}

// --- events -------------------------------------------------------------------------------------

std::optional<ItemId> Dispatcher::accept(llm::Request request, WorkItem item, Cost expected,
                                         Done done, bool patient) {
  Entry entry{.request = std::make_shared<const llm::Request>(std::move(request)),
              .done = std::move(done),
              .cached_as = {},
              .outcome = {}};
  // What must keep its place in a lane cannot be answered out of turn.
  if (cache_ != nullptr && item.same_answer && item.lane == 0)
    entry.cached_as = question_of(*item.same_answer, cache_scope_);
  if (!coalesce_) item.same_answer.reset();
  Deeds deeds;
  {
    std::unique_lock lock(mutex_);
    if (patient) {
      ++submitters_waiting_;
      room_grew_.wait(lock, [&] { return !admitting_ || free_places() > 0; });
      --submitters_waiting_;
    } else if (!has_room_for(item.urgency)) {
      return std::nullopt;
    }
    if (!admitting_) return std::nullopt;
    item.id = ItemId(++submitted_);
    ++in_flight_;
    std::optional<llm::Answer> known;
    if (entry.cached_as) {
      // The disk is not waited for with the lock.
      lock.unlock();
      known = cache_->find(*entry.cached_as);
      lock.lock();
    }
    if (known) {
      ++cached_;
      deeds.emplace_back(Finish{
          .done = std::move(entry.done),
          .result = {
              .outcome = *std::move(known), .attempts = 0, .source = OutcomeSource::kCached}});
    } else if (!admitting_) {
      --in_flight_;
      tell_those_who_wait();
      return std::nullopt;
    } else {
      if (item.same_answer) share_request(*item.same_answer, entry);
      entries_.emplace(item.id, std::move(entry));
      deeds = decide([&](TimePoint now, Actions& actions) {
        scheduler_.submit(now, item, expected, actions);
      });
    }
  }
  run(std::move(deeds));
  return item.id;
}

// Those who wait for one answer hold one request.
void Dispatcher::share_request(const Hash128& question, Entry& entry) {
  std::weak_ptr<const llm::Request>& asked = asked_[question];
  if (std::shared_ptr<const llm::Request> same = asked.lock()) {
    entry.request = std::move(same);
  } else {
    asked = entry.request;
  }
  if (asked_.size() > 2 * entries_.size() + kAskedKept)
    std::erase_if(asked_, [](const auto& one) { return one.second.expired(); });
}

void Dispatcher::call_ended(const OpenCall& call, llm::Outcome outcome) {
  CallEnd end = facts_of(outcome);
  if (cost_of_) end.cost = cost_of_(*call.requests.front(), usage_of(outcome));
  std::vector<llm::Outcome> outcomes;
  if (call.items.size() == 1) {
    outcomes.push_back(std::move(outcome));
  } else {
    outcomes = llm::unpack_outcome(std::move(outcome), call.sizes);
    if (!end.fault && std::holds_alternative<llm::Failure>(outcomes.front())) {
      end.fault = Fault::kRequest;
      end.unmatched = true;
    }
  }
  std::vector<Cost> costs(call.items.size(), end.cost);
  for (size_t i = 0; i < outcomes.size() && outcomes.size() > 1 && cost_of_; ++i)
    costs[i] = cost_of_(*call.requests[i], usage_of(outcomes[i]));
  // Before the item ends: an equal one that comes then is found there.
  if (cache_ != nullptr && !end.fault) keep(call, outcomes);
  Deeds deeds;
  {
    const std::scoped_lock lock(mutex_);
    for (size_t i = 0; i < call.items.size(); ++i) {
      Entry& entry = entries_.at(call.items[i]);
      entry.tokens += tokens_of(outcomes[i]);
      entry.cost += costs[i];
      if (const auto* before = entry.outcome ? std::get_if<llm::Failure>(&*entry.outcome) : nullptr)
        entry.earlier_failure = before->message;
      entry.outcome = std::move(outcomes[i]);
    }
    deeds = decide(
        [&](TimePoint now, Actions& actions) { scheduler_.ended(now, call.id, end, actions); });
  }
  run(std::move(deeds));
}

void Dispatcher::keep(const OpenCall& call, const std::vector<llm::Outcome>& outcomes) {
  std::vector<std::optional<Hash128>> questions;
  {
    const std::scoped_lock lock(mutex_);
    for (const ItemId item : call.items)
      questions.push_back(entries_.at(item).cached_as);
  }
  for (size_t i = 0; i < questions.size(); ++i) {
    const auto* answer = std::get_if<llm::Answer>(&outcomes[i]);
    if (questions[i] && answer != nullptr) cache_->put(*questions[i], *answer);
  }
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
  room_grew_.notify_all();
}

void Dispatcher::cancel(ItemId item) {
  Deeds deeds;
  {
    const std::scoped_lock lock(mutex_);
    deeds = decide([&](TimePoint now, Actions& actions) { scheduler_.cancel(now, item, actions); });
  }
  run(std::move(deeds));
}

void Dispatcher::cancel_waiting() {
  cancel_those(Cancel::kWaiting);
}

void Dispatcher::cancel_all() {
  cancel_those(Cancel::kAll);
}

void Dispatcher::cancel_those(Cancel what) {
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
  became_idle_.wait(lock, [&] { return is_idle(); });
}

}  // namespace windrow::dispatch
