#include "dispatch/dispatcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace windrow::dispatch {
namespace {

DispatchPolicyOptions scheduler_options(const std::vector<DispatchUpstream>& upstreams,
                                        const DispatchOptions& options) {
  DispatchPolicyOptions scheduler{.quotas = options.quotas,
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
    scheduler.upstreams.push_back(
        {.concurrency = upstream.concurrency.value_or(ConcurrencyOptions{.fixed = 1}),
         .quota = upstream.quota,
         .pack_rows_max = upstream.pack_rows_max,
         .slots_by_rows = upstream.slots_by_rows});
  }
  return scheduler;
}

// What the cache knows an item by.
Hash128 question_of(const Hash128& same_answer, const std::string& scope) {
  return hash128(to_hex(same_answer.low) + to_hex(same_answer.high) + scope);
}

// What equal requests that are heard have in common.
Hash128 heard_question(Hash128 question, bool raw) {
  question.high ^= raw ? 0x9E3779B97F4A7C15U : 0xBF58476D1CE4E5B9U;
  return question;
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

}  // namespace

Dispatcher::Dispatcher(llm::Backend& backend, DispatchOptions options)
    : Dispatcher({{.backend = &backend, .slots_by_rows = options.slots_by_rows}},
                 never_left(options), nullptr, nullptr) {}

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
      on_calls_max_(options.on_calls_max),
      on_batch_(options.on_batch),
      own_waker_(waker == nullptr ? std::make_unique<ThreadWaker>(own_clock_) : nullptr),
      clock_(clock == nullptr ? own_clock_ : *clock),
      waker_(waker == nullptr ? *own_waker_ : *waker),
      policy_(scheduler_options(upstreams_, options)) {
  waker_.start([this] { wake(); });
}

Dispatcher::~Dispatcher() {
  stop_admitting();
  wait_idle();
  waker_.stop();
}

// --- in -----------------------------------------------------------------------------------------

std::optional<ItemId> Dispatcher::accept(llm::Request request, WorkItem item, Cost expected,
                                         Done done, Delivery delivery,
                                         std::optional<Patience> patience) {
  const std::optional<Hash128> question = item.same_answer;
  Entry entry{.priority = item.priority, .delivery = std::move(delivery), .done = std::move(done)};
  if (!coalesce_) item.same_answer.reset();
  if (entry.delivery.listener) {
    // Heard or not, in pieces of text or in events of a server: they do not share an answer.
    item.pack = 0;
    if (item.same_answer)
      item.same_answer = heard_question(*item.same_answer, !request.raw.empty());
    entry.heard = std::make_shared<SharedListener>(item.same_answer.has_value());
    entry.member = entry.heard->join(entry.delivery.listener);
  } else if (cache_ != nullptr && question && item.lane == 0) {
    // What must keep its place in a lane cannot be answered out of turn. What is kept has no
    // pieces.
    entry.cached_as = question_of(*question, cache_scope_);
  }
  // Who is turned away should cost next to nothing, just when there is too much to do.
  if (!patience && !is_open_to(item)) return std::nullopt;
  if (upstreams_.size() == 1) entry.read_ahead = upstreams_.front().backend->read_ahead(request);
  entry.request = std::make_shared<const llm::Request>(std::move(request));
  const std::stop_token left = patience ? std::move(patience->left) : std::stop_token();
  const std::stop_callback wake(left, [this] {
    const std::scoped_lock lock(mutex_);
    room_grew_.notify_all();
  });
  Effects deeds;
  {
    std::unique_lock lock(mutex_);
    if (patience) {
      ++submitters_waiting_;
      room_grew_.wait(lock,
                      [&] { return !admitting_ || left.stop_requested() || free_slots() > 0; });
      --submitters_waiting_;
      if (left.stop_requested()) return std::nullopt;
    } else if (!has_room_for(item)) {
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
      deeds.emplace_back(CompleteItem{
          .done = std::move(entry.done),
          .result = {
              .outcome = *std::move(known), .attempts = 0, .source = OutcomeSource::kCached}});
    } else if (!admitting_) {
      --in_flight_;
      notify_waiters();
      return std::nullopt;
    } else {
      entries_.emplace(item.id, std::move(entry));
      Actions actions;
      policy_.submit(begin_event(), item, expected, actions);
      deeds = end_event(actions);
    }
  }
  run(std::move(deeds));
  return item.id;
}

void Dispatcher::wake() {
  Effects deeds;
  {
    const std::scoped_lock lock(mutex_);
    Actions actions;
    policy_.wake(begin_event(), actions);
    deeds = end_event(actions);
  }
  run(std::move(deeds));
}

void Dispatcher::stop_admitting() {
  const std::scoped_lock lock(mutex_);
  admitting_ = false;
  room_grew_.notify_all();
}

void Dispatcher::cancel_unless_out(ItemId item) {
  Effects deeds;
  {
    const std::scoped_lock lock(mutex_);
    const auto entry = entries_.find(item);
    const bool loads = entry != entries_.end() && entry->second.delivery.load_wait &&
                       entry->second.delivery.load_wait->waits;
    if (policy_.is_in_flight(item) && !loads) return;
    Actions actions;
    policy_.cancel(begin_event(), item, actions);
    deeds = end_event(actions);
  }
  run(std::move(deeds));
}

void Dispatcher::cancel(ItemId item) {
  Effects deeds;
  {
    const std::scoped_lock lock(mutex_);
    Actions actions;
    policy_.cancel(begin_event(), item, actions);
    deeds = end_event(actions);
  }
  run(std::move(deeds));
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
  became_idle_.wait(lock, [&] { return is_idle(); });
}

}  // namespace windrow::dispatch
