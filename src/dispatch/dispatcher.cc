#include "dispatch/dispatcher.h"

#include <algorithm>
#include <iterator>

namespace windrow::dispatch {
namespace {

DispatchPolicyOptions policy_options(const std::vector<DispatchUpstream>& upstreams,
                                     const DispatchOptions& options) {
  DispatchPolicyOptions policy{.quotas = options.quotas,
                               .retry = {.attempts_max = std::max(options.attempts_max, 1),
                                         .backoff_base = options.backoff_base,
                                         .refusal_patience = options.refusal_patience},
                               .queue = options.queue,
                               .reserve = options.reserve,
                               .packer = options.packer,
                               .router = options.router,
                               .cost_max = options.cost_max,
                               .calls_max = options.calls_max,
                               .seed = options.seed};
  for (const DispatchUpstream& upstream : upstreams) {
    policy.upstreams.push_back(
        {.concurrency = upstream.concurrency.value_or(ConcurrencyOptions{.fixed = 1}),
         .quota = upstream.quota,
         .pack_rows_max = upstream.pack_rows_max,
         .slots_by_rows = upstream.slots_by_rows});
  }
  return policy;
}

Hash128 cache_key_of(const Hash128& same_answer, const std::string& scope) {
  return hash128(to_hex(same_answer.low) + to_hex(same_answer.high) + scope);
}

// Streamed and whole answers are not shared, nor are deltas of text and events of a server.
Hash128 same_stream(Hash128 same_answer, bool raw) {
  same_answer.high ^= raw ? 0x9E3779B97F4A7C15U : 0xBF58476D1CE4E5B9U;
  return same_answer;
}

// The only upstream is never ejected.
DispatchOptions never_ejected(DispatchOptions options) {
  options.router.failures_max = 0;
  return options;
}

}  // namespace

// The effects that a thread carries out for a dispatcher. A backend may answer while a call is
// submitted to it, which leads to more effects: they join the list instead of nesting, so that the
// stack does not grow with the queue.
struct Dispatcher::Running {
  Dispatcher* dispatcher;
  Effects effects;
  Running* outer;
};

thread_local Dispatcher::Running* Dispatcher::running_ = nullptr;

Dispatcher::Dispatcher(llm::Backend& backend, DispatchOptions options)
    : Dispatcher({{.backend = &backend, .slots_by_rows = options.slots_by_rows}},
                 never_ejected(options), nullptr, nullptr) {}

Dispatcher::Dispatcher(std::vector<DispatchUpstream> upstreams, DispatchOptions options,
                       const Clock& clock, Waker& waker)
    : Dispatcher(std::move(upstreams), std::move(options), &clock, &waker) {}

Dispatcher::Dispatcher(std::vector<DispatchUpstream> upstreams, DispatchOptions options,
                       const Clock* clock, Waker* waker)
    : upstreams_(std::move(upstreams)),
      coalesce_(options.coalesce),
      cache_(options.cache),
      cache_scope_(options.cache_scope),
      cost_of_(options.cost_of),
      on_budget_spent_(options.on_budget_spent),
      on_calls_max_(options.on_calls_max),
      on_batch_(options.on_batch),
      own_waker_(waker == nullptr ? std::make_unique<ThreadWaker>(own_clock_) : nullptr),
      clock_(clock == nullptr ? own_clock_ : *clock),
      waker_(waker == nullptr ? *own_waker_ : *waker),
      policy_(policy_options(upstreams_, options)),
      gate_(upstreams_, options, policy_) {
  waker_.start(
      [this] { handle([&](TimePoint now, Actions& actions) { policy_.wake(now, actions); }); });
}

Dispatcher::~Dispatcher() {
  stop_admitting();
  wait_idle();
  waker_.stop();
}

// --- requests -----------------------------------------------------------------------------------

// May change what `item` is equal to.
OpenItem Dispatcher::open_item(WorkItem& item, Done done, Delivery delivery,
                               const llm::Request& request) const {
  OpenItem open{
      .priority = item.priority, .delivery = std::move(delivery), .done = std::move(done)};
  if (request.verbatim) {
    item.pack = 0;
    item.same_answer.reset();
    if (open.delivery.reply_sink)
      open.reply_sink = std::make_shared<WatchedSink>(std::move(open.delivery.reply_sink));
    return open;
  }
  const std::optional<Hash128> same_answer = item.same_answer;
  if (!coalesce_ || item.attempts_max) item.same_answer.reset();
  if (open.delivery.listener) {
    item.pack = 0;
    if (item.same_answer) item.same_answer = same_stream(*item.same_answer, !request.raw.empty());
    open.shared_listener = std::make_shared<SharedListener>(item.same_answer.has_value());
    open.member = open.shared_listener->join(open.delivery.listener);
    return open;
  }
  // An item of a lane cannot be answered out of turn.
  if (cache_ != nullptr && same_answer && item.lane == 0)
    open.cache_key = cache_key_of(*same_answer, cache_scope_);
  return open;
}

void Dispatcher::read_ahead(OpenItem& open, llm::Request request) const {
  if (upstreams_.size() == 1) open.read_ahead = upstreams_.front().backend->read_ahead(request);
  open.request = std::make_shared<const llm::Request>(std::move(request));
}

std::optional<ItemId> Dispatcher::submit(llm::Request request, WorkItem item, Cost expected,
                                         Done done, std::stop_token left, Delivery delivery) {
  OpenItem open = open_item(item, std::move(done), std::move(delivery), request);
  read_ahead(open, std::move(request));
  const std::stop_callback wake(left, [this] {
    const std::scoped_lock lock(mutex_);
    gate_.wake_submitters();
  });
  std::unique_lock lock(mutex_);
  if (!gate_.wait(lock, left)) return std::nullopt;
  return enter(std::move(lock), std::move(open), item, expected);
}

std::optional<ItemId> Dispatcher::offer(llm::Request request, WorkItem item, Cost expected,
                                        Done done, Delivery delivery) {
  OpenItem open = open_item(item, std::move(done), std::move(delivery), request);
  {
    // A request that is turned away should cost next to nothing, above all under overload.
    const std::scoped_lock lock(mutex_);
    if (!gate_.admits(item)) return std::nullopt;
  }
  read_ahead(open, std::move(request));
  std::unique_lock lock(mutex_);
  if (!gate_.admits(item)) return std::nullopt;
  return enter(std::move(lock), std::move(open), item, expected);
}

// With the lock at first: the request is accepted.
std::optional<ItemId> Dispatcher::enter(std::unique_lock<std::mutex> lock, OpenItem open,
                                        WorkItem item, Cost expected) {
  item.id = ItemId(++submitted_);
  gate_.begin_request();
  std::optional<llm::Answer> known;
  if (open.cache_key) {
    // Not with the lock: this may wait for the disk.
    lock.unlock();
    known = cache_->find(*open.cache_key);
    lock.lock();
  }
  Effects effects;
  if (known) {
    ++cached_;
    effects.emplace_back(CompletedItem{
        .done = std::move(open.done),
        .result = {.outcome = *std::move(known), .attempts = 0, .source = OutcomeSource::kCached}});
  } else if (!gate_.is_admitting()) {
    gate_.end_request();
    lock.unlock();  // what `open` holds is destroyed without it
    return std::nullopt;
  } else {
    items_.add(item.id, std::move(open));
    Actions actions;
    policy_.submit(begin_event(), item, expected, actions);
    effects = end_event(actions);
  }
  lock.unlock();
  run(std::move(effects));
  return item.id;
}

void Dispatcher::cancel(ItemId item) {
  handle([&](TimePoint now, Actions& actions) { policy_.cancel(now, item, actions); });
}

void Dispatcher::cancel_unless_out(ItemId item) {
  handle([&](TimePoint now, Actions& actions) {
    if (!policy_.is_in_flight(item) || items_.waits_for_load(item))
      policy_.cancel(now, item, actions);
  });
}

void Dispatcher::stop_admitting() {
  const std::scoped_lock lock(mutex_);
  gate_.stop_admitting();
}

void Dispatcher::cancel_waiting() {
  cancel_calls(false);
}

void Dispatcher::cancel_all() {
  cancel_calls(true);
}

// A call that was decided on and is not with its backend yet has its tokens by now, so it is asked
// as any other.
void Dispatcher::cancel_calls(bool all) {
  Effects effects;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, stops] : calls_) {
      effects.emplace_back(StopCall{stops.withdrawn});
      if (all) effects.emplace_back(StopCall{stops.unwanted});
    }
    Actions actions;
    begin_event();
    policy_.cancel_waiting(actions);
    std::ranges::move(end_event(actions), std::back_inserter(effects));
  }
  run(std::move(effects));
}

void Dispatcher::wait_idle() {
  std::unique_lock lock(mutex_);
  gate_.wait_idle(lock);
}

// --- events: decided with the lock, carried out without it --------------------------------------

template <class Event>
void Dispatcher::handle(Event event) {
  Effects effects;
  {
    const std::scoped_lock lock(mutex_);
    const TimePoint now = begin_event();
    Actions actions;
    event(now, actions);
    effects = end_event(actions);
  }
  run(std::move(effects));
}

TimePoint Dispatcher::begin_event() {
  gate_.update_limits();
  return clock_.now();
}

Dispatcher::Effects Dispatcher::end_event(const Actions& actions) {
  waker_.wake_at(policy_.wake_at());
  gate_.wake_waiters();
  Effects effects;
  effects.reserve(actions.size());
  const OpenItems::SharedOutcomes shared = items_.shared_outcomes(actions);
  for (const Action& action : actions) {
    if (const auto* send = std::get_if<Send>(&action)) {
      gate_.begin_outside_call();
      effects.emplace_back(SendCall{.upstream = send->upstream,
                                    .tokens = send->tokens,
                                    .reason = send->reason,
                                    .prepared = items_.prepare(*send, calls_[send->call])});
    } else if (const auto* ended = std::get_if<Ended>(&action)) {
      effects.emplace_back(items_.complete(*ended, shared));
    } else if (const auto* stop = std::get_if<Stop>(&action)) {
      effects.emplace_back(StopCall{calls_.at(stop->call).unwanted});
    } else if (const auto* follow = std::get_if<Follow>(&action)) {
      items_.follow(*follow);
    } else {
      items_.promote(std::get<PromoteFollower>(action));
    }
  }
  if (policy_.budget_is_spent() && !std::exchange(reported_budget_spent_, true)) {
    gate_.begin_outside_call();
    effects.emplace_back(BudgetSpent{});
  }
  if (policy_.is_at_calls_max() && !std::exchange(reported_calls_max_, true)) {
    gate_.begin_outside_call();
    effects.emplace_back(AtCallsMax{});
  }
  return effects;
}

void Dispatcher::run(Effects effects) {
  for (Running* running = running_; running != nullptr; running = running->outer) {
    if (running->dispatcher != this) continue;
    std::ranges::move(effects, std::back_inserter(running->effects));
    return;
  }
  Running running{.dispatcher = this, .effects = std::move(effects), .outer = running_};
  running_ = &running;
  while (!running.effects.empty()) {
    Effects now = std::exchange(running.effects, {});
    for (Effect& effect : now)
      std::visit([this](auto& it) { apply(std::move(it)); }, effect);
  }
  running_ = running.outer;
}

void Dispatcher::apply(SendCall send) {
  OpenCall& call = send.prepared.call;
  if (on_batch_ && send.reason != PackReason::kAlone) {
    on_batch_({.upstream = send.upstream,
               .rows = static_cast<int32_t>(call.requests.size()),
               .tokens = send.tokens,
               .reason = send.reason});
  }
  send.prepared.to_backend.request = call.pack();
  upstreams_[send.upstream.value()].backend->submit(
      std::move(send.prepared.to_backend), [this, call = std::move(call)](llm::Outcome outcome) {
        call_ended(call, std::move(outcome));
      });
  const std::scoped_lock lock(mutex_);
  gate_.end_outside_call();
}

void Dispatcher::apply(CompletedItem completed) {
  if (completed.shared_outcome) completed.result.outcome = *completed.shared_outcome;
  if (!completed.shared_listener) return end(completed);
  const std::shared_ptr<SharedListener> listener = std::move(completed.shared_listener);
  const SharedListener::Member member = completed.member;
  const bool gets_rest = completed.gets_rest;
  auto then = [this, it = std::make_shared<CompletedItem>(std::move(completed))] { end(*it); };
  if (gets_rest) {
    listener->finish(member, std::move(then));
  } else {
    listener->leave(member, std::move(then));
  }
}

void Dispatcher::end(CompletedItem& completed) {
  completed.done(std::move(completed.result));
  completed.done = nullptr;
  if (completed.reply_sink) completed.reply_sink->let_go();
  const std::scoped_lock lock(mutex_);
  gate_.end_request();
}

void Dispatcher::apply(StopCall stop) {
  stop.stops.request_stop();
}

void Dispatcher::apply(BudgetSpent) {
  if (on_budget_spent_) on_budget_spent_();
  const std::scoped_lock lock(mutex_);
  gate_.end_outside_call();
}

void Dispatcher::apply(AtCallsMax) {
  if (on_calls_max_) on_calls_max_();
  const std::scoped_lock lock(mutex_);
  gate_.end_outside_call();
}

void Dispatcher::call_ended(const OpenCall& call, llm::Outcome outcome) {
  CallEnd end = call_end_of(outcome);
  if (cost_of_) end.cost = cost_of_(*call.requests.front(), usage_of(outcome));
  end.begun = call.has_begun();
  std::vector<llm::Outcome> outcomes = call.unpack(std::move(outcome), end);
  std::vector<Cost> costs(outcomes.size(), end.cost);
  for (size_t i = 0; i < outcomes.size() && outcomes.size() > 1 && cost_of_; ++i)
    costs[i] = cost_of_(*call.requests[i], usage_of(outcomes[i]));
  // Before the item ends: an equal one that comes then finds the answer there.
  if (cache_ != nullptr && !end.fault) put_in_cache(call, outcomes);
  handle([&](TimePoint now, Actions& actions) {
    calls_.erase(call.id);
    items_.record(policy_.items_of(call.id), std::move(outcomes), costs);
    policy_.ended(now, call.id, end, actions);
  });
}

void Dispatcher::put_in_cache(const OpenCall& call, const std::vector<llm::Outcome>& outcomes) {
  std::vector<std::optional<Hash128>> keys;
  {
    const std::scoped_lock lock(mutex_);
    keys = items_.cache_keys(policy_.items_of(call.id));
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto* answer = std::get_if<llm::Answer>(&outcomes[i]);
    if (keys[i] && answer != nullptr) cache_->put(*keys[i], *answer);
  }
}

// --- readings -----------------------------------------------------------------------------------

std::unique_ptr<llm::PrefixHold> Dispatcher::hold(std::vector<int32_t> tokens) const {
  return upstreams_.front().backend->hold(std::move(tokens));
}

std::variant<int64_t, llm::Failure> Dispatcher::count_prompt(const llm::Request& request) const {
  return upstreams_.front().backend->count_prompt(request);
}

bool Dispatcher::is_waiting(ItemId item) const {
  const std::scoped_lock lock(mutex_);
  return policy_.is_waiting(item);
}

QueueReading Dispatcher::queue() const {
  const std::scoped_lock lock(mutex_);
  return policy_.queue(clock_.now());
}

std::vector<TenantReading> Dispatcher::tenants() const {
  const std::scoped_lock lock(mutex_);
  return policy_.tenants();
}

std::vector<UpstreamReading> Dispatcher::readings() const {
  const std::scoped_lock lock(mutex_);
  std::vector<UpstreamReading> readings;
  readings.reserve(upstreams_.size());
  for (uint32_t i = 0; i < upstreams_.size(); ++i) {
    const UpstreamId id(i);
    readings.push_back({.in_flight = policy_.in_flight(id),
                        .in_flight_max = policy_.limit(id),
                        .health = policy_.health(id),
                        .finding = policy_.finding(id)});
  }
  return readings;
}

DispatchCounts Dispatcher::counts() const {
  const std::scoped_lock lock(mutex_);
  return {policy_.counts(), cached_, policy_.spent()};
}

RetryReading Dispatcher::retries() const {
  const std::scoped_lock lock(mutex_);
  return policy_.retries();
}

bool Dispatcher::budget_is_spent() const {
  const std::scoped_lock lock(mutex_);
  return policy_.budget_is_spent();
}

int32_t Dispatcher::in_flight() const {
  const std::scoped_lock lock(mutex_);
  return gate_.in_flight();
}

int32_t Dispatcher::in_flight_max() const {
  const std::scoped_lock lock(mutex_);
  return gate_.capacity();
}

int32_t Dispatcher::submitters_waiting() const {
  const std::scoped_lock lock(mutex_);
  return gate_.submitters_waiting();
}

}  // namespace windrow::dispatch
