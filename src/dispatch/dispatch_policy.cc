#include "dispatch/dispatch_policy.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::dispatch {
namespace {

void keep_earlier(std::optional<TimePoint>& at, std::optional<TimePoint> other) {
  if (other && (!at || *other < *at)) at = other;
}

// A call that takes much of a minute's tokens would leave the rest of it unused.
PackerOptions within(PackerOptions packer, const std::vector<QuotaOptions>& quotas) {
  constexpr int64_t kCallsPerMinute = 12;
  for (const QuotaOptions& quota : quotas) {
    if (quota.tokens_per_minute > 0) {
      packer.tokens_max = std::min(packer.tokens_max, quota.tokens_per_minute / kCallsPerMinute);
    }
  }
  packer.tokens_max = std::max<int64_t>(packer.tokens_max, 1);
  packer.tokens_min = std::min(packer.tokens_min, packer.tokens_max);
  return packer;
}

UpstreamTableOptions upstream_options(const DispatchPolicyOptions& options) {
  return {.upstreams = options.upstreams,
          .quotas = options.quotas,
          .reserve = options.reserve,
          .router = options.router,
          .calls_max = options.calls_max,
          .refusals_are_own = options.retry.refusal_patience.has_value(),
          .seed = options.seed};
}

}  // namespace

DispatchPolicy::DispatchPolicy(DispatchPolicyOptions options)
    : options_(std::move(options)),
      random_(options_.seed),
      upstreams_(upstream_options(options_)),
      budget_(options_.cost_max),
      queue_(options_.queue),
      packer_(within(options_.packer, options_.quotas)) {}

bool DispatchPolicy::is_in_flight(ItemId item) const {
  const Record* record = items_.find(item);
  return record != nullptr && record->state() == QueueState::kInFlight;
}

bool DispatchPolicy::is_waiting(ItemId item) const {
  const Record* record = items_.find(item);
  if (record == nullptr) return false;
  if (record->state() != QueueState::kFollowing) return record->state() != QueueState::kInFlight;
  return is_waiting(single_flight_.leader_of(*record->item.same_answer));
}

// --- in -----------------------------------------------------------------------------------------

void DispatchPolicy::submit(TimePoint now, const WorkItem& item, Cost expected, Actions& actions) {
  Record& record = items_.add(now, item, expected);
  // An item of a lane keeps its turn there and cannot be answered before it.
  if (item.lane != 0) record.item.same_answer.reset();
  // Others may be tried more often.
  if (item.attempts_max) {
    record.item.same_answer.reset();
    record.item.pack = 0;
  }
  std::optional<ItemId> leader;
  if (record.item.same_answer) leader = single_flight_.join(*record.item.same_answer, item.id);
  if (leader) {
    items_.set_state(record, QueueState::kFollowing);
    raise(*leader, item);
    actions.emplace_back(Follow{.item = item.id, .leader = *leader});
  } else {
    enqueue(now, record);
  }
  pump(now, actions);
}

void DispatchPolicy::enqueue(TimePoint now, Record& record) {
  items_.set_state(record, QueueState::kQueued);
  if (packer_.packs(record.item)) {
    packer_.add(now, record.item, record.rows_max);
  } else if (record.handed_out) {
    queue_.put_back(record.item);
  } else {
    queue_.push(record.item);
  }
}

// For an item that is not in flight and ends.
void DispatchPolicy::dequeue(Record& record) {
  ENSURE(record.state() != QueueState::kInFlight, "item {} ends before its call",
         record.item.id.value());
  if (record.state() != QueueState::kQueued) return;
  if (queue_.take(record.item.id)) {
    record.handed_out = false;  // to the queue it is gone already
    return;
  }
  const bool packed = packer_.take(record.item.id).has_value();
  ENSURE(packed, "item {} is in no queue", record.item.id.value());
}

void DispatchPolicy::replace_queued(ItemId id, const WorkItem& item) {
  const bool replaced = queue_.replace(id, item) || packer_.replace(id, item);
  ENSURE(replaced, "item {} is in no queue", id.value());
}

// Priority inheritance: a leader takes the highest priority of its followers, and the tenant whose
// turn comes first.
void DispatchPolicy::raise(ItemId leader, const WorkItem& follower) {
  Record& record = items_.at(leader);
  const bool queued = record.state() == QueueState::kQueued;
  const Priority priority = std::min(record.item.priority, follower.priority);
  // The packer has given its items their turns already.
  const bool changes_tenant = queued && !packer_.packs(record.item) &&
                              record.item.tenant != follower.tenant &&
                              queue_.is_before(priority, follower, record.item);
  if (priority == record.item.priority && !changes_tenant) return;
  const WorkItem& payer = changes_tenant ? follower : record.item;
  items_.update(record, priority, payer.tenant, payer.weight);
  if (queued) replace_queued(leader, record.item);
}

void DispatchPolicy::wake(TimePoint now, Actions& actions) {
  upstreams_.wake(now);
  pump(now, actions);
}

std::optional<TimePoint> DispatchPolicy::wake_at() const {
  std::optional<TimePoint> at = packer_.wake_at(pumped_at_);
  keep_earlier(at, items_.next_retry());
  keep_earlier(at, items_.next_deadline());
  if (queued() > 0) keep_earlier(at, upstreams_.wake_at());
  return at;
}

// --- out ----------------------------------------------------------------------------------------

void DispatchPolicy::pump(TimePoint now, Actions& actions) {
  pumped_at_ = now;
  while (const std::optional<ItemId> due = items_.due_retry(now))
    enqueue(now, items_.at(*due));
  expire(now, actions);
  upstreams_.begin_round(now);
  budget_is_spent_ = false;
  while (queued() > 0 && upstreams_.find_open(now, calls_.size())) {
    const bool sent = packed_first_ ? send_packed(now, actions) || send_one(now, false, actions)
                                    : send_one(now, false, actions) || send_packed(now, actions);
    // Rather a second upstream for a group than an upstream without work.
    if (!sent && !send_one(now, true, actions)) break;
    packed_first_ = !packed_first_;
  }
}

void DispatchPolicy::expire(TimePoint now, Actions& actions) {
  while (const std::optional<ItemId> id = items_.overdue(now)) {
    const Record& record = items_.at(*id);
    if (record.state() == QueueState::kFollowing &&
        is_in_flight(single_flight_.leader_of(*record.item.same_answer))) {
      items_.drop_first_deadline();  // it was sent in time
    } else {
      leave(*id, ItemEnd::kExpired, actions);
    }
  }
}

bool DispatchPolicy::send_one(TimePoint now, bool anywhere, Actions& actions) {
  std::optional<UpstreamId> upstream;
  const std::optional<WorkItem> item = queue_.next([&](const WorkItem& offered) {
    upstream = upstreams_.choose(now, offered, anywhere);
    if (!upstream) return false;
    const Cost expected = items_.at(offered.id).expected;
    if (budget_.affords(expected)) return true;
    budget_is_spent_ = budget_.spent_for_good(expected);
    return false;
  });
  if (!item) return false;
  items_.at(item->id).handed_out = true;
  send(now, *upstream, {item->id}, item->tokens, PackReason::kAlone, actions);
  return true;
}

bool DispatchPolicy::send_packed(TimePoint now, Actions& actions) {
  std::optional<Pack> pack = packer_.next(now);
  if (!pack) return false;
  WorkItem whole{.tokens = pack->tokens, .upstreams = pack->items.front().upstreams};
  for (const WorkItem& item : pack->items)
    whole.priority = std::min(whole.priority, item.priority);
  const std::optional<UpstreamId> upstream = upstreams_.choose(now, whole, true);
  if (!upstream) {
    budget_is_spent_ = false;
    packer_.put_back(*pack);
    return false;
  }
  if (const auto rest = split_pack(*pack, upstreams_.pack_rows_max(*upstream)))
    packer_.put_back(*rest);
  std::vector<ItemId> ids;
  Cost expected = 0;
  for (const WorkItem& item : pack->items) {
    expected += items_.at(item.id).expected;
    if (!budget_.affords(expected)) break;
    ids.push_back(item.id);
  }
  if (ids.empty()) {
    budget_is_spent_ = budget_.spent_for_good(expected);
    packer_.put_back(*pack);
    return false;
  }
  if (const auto rest = split_pack(*pack, static_cast<int32_t>(ids.size())))
    packer_.put_back(*rest);
  send(now, *upstream, std::move(ids), pack->tokens, pack->reason, actions);
  return true;
}

void DispatchPolicy::send(TimePoint now, UpstreamId upstream, std::vector<ItemId> items,
                          int64_t tokens, PackReason reason, Actions& actions) {
  const CallId id(static_cast<uint64_t>(++counts_.calls));
  Call call{.items = items};
  Priority priority = Priority::kBatch;
  for (const ItemId item : items) {
    Record& record = items_.at(item);
    items_.set_state(record, QueueState::kInFlight);
    record.call = id;
    record.charge = queue_.charge(record.item);
    call.expected += record.expected;
    priority = std::min(priority, record.item.priority);
  }
  const bool kept_back = budget_.keep_back(call.expected);
  ENSURE(kept_back, "a call of {} is sent without a budget", call.expected);
  const WorkItem* alone = items.size() == 1 ? &items_.at(items.front()).item : nullptr;
  call.sent = upstreams_.send(now, upstream, tokens, priority, items.size(), alone);
  if (reason != PackReason::kAlone) {
    ++counts_.batches;
    counts_.batched_rows += static_cast<int64_t>(items.size());
  }
  calls_.emplace(id, std::move(call));
  actions.emplace_back(Send{.call = id,
                            .upstream = upstream,
                            .items = std::move(items),
                            .tokens = tokens,
                            .reason = reason});
}

// --- ends of calls ------------------------------------------------------------------------------

void DispatchPolicy::ended(TimePoint now, CallId id, const CallEnd& end, Actions& actions) {
  const auto found = calls_.find(id);
  ENSURE(found != calls_.end(), "call {} ended twice or was never made", id.value());
  const Call call = std::move(found->second);
  calls_.erase(found);
  const bool refused_before = std::ranges::any_of(call.items, [&](ItemId item) {
    return items_.at(item).item.was_refused_by(call.sent.upstream);
  });
  upstreams_.ended(now, call.sent, end, refused_before, calls_.size(), random_);
  budget_.spend(call.expected, end.cost);
  settle(now, call, end);
  // Items that were in one call are retried together, or each would make a call of its own.
  std::optional<TimePoint> retry_at;
  for (const ItemId item : call.items)
    call_ended(now, item, call, end, retry_at, actions);
  pump(now, actions);
}

// Tells the packer and fair queueing what the call has cost: each item for its part.
void DispatchPolicy::settle(TimePoint now, const Call& call, const CallEnd& end) {
  const bool packed = call.items.size() > 1;
  if (packed && !end.fault) {
    packer_.size().answered(call.sent.tokens, now - call.sent.sent);
  } else if (packed && (end.too_large || end.timed_out)) {
    packer_.size().too_large(call.sent.tokens);
  }
  for (const ItemId id : call.items) {
    const Record& record = items_.at(id);
    const int64_t tokens = record.item.tokens;
    // An answer that does not say what it took is taken to have cost what was expected.
    int64_t cost = end.fault ? 0 : tokens;
    if (end.computed)
      cost =
          packed ? *end.computed * tokens / std::max<int64_t>(call.sent.tokens, 1) : *end.computed;
    queue_.settle(record.charge, cost);
  }
}

void DispatchPolicy::call_ended(TimePoint now, ItemId id, const Call& call, const CallEnd& end,
                                std::optional<TimePoint>& retry_at, Actions& actions) {
  Record& record = items_.at(id);
  if (!end.fault || end.passed_on) {
    ++record.attempts.used;
    return finish(now, id, ItemEnd::kAnswered, actions);
  }
  // It is unknown which item of a packed call is at fault. Halves will tell, and an item fails only
  // in a call of its own.
  const bool was_packed = call.items.size() > 1;
  const bool is_given_up = retries_ended_ || record.cancelled;
  RetryOptions retry = options_.retry;
  retry.sends_max = record.item.attempts_max;
  if (was_packed && (end.fault == Fault::kRequest || end.fault == Fault::kTransient)) {
    record.rows_max = static_cast<int32_t>(call.items.size() / 2);
    retry.attempts_max = INT32_MAX;
    if (end.fault == Fault::kRequest) {
      if (is_given_up) return finish(now, id, ItemEnd::kCancelled, actions);
      ++counts_.retries;
      return enqueue(now, record);
    }
  }
  const UpstreamId upstream = call.sent.upstream;
  if (end.fault == Fault::kOverloaded) record.item.refused_by |= WorkItem::bit_of(upstream);
  const bool has_alternative =
      end.fault == Fault::kOverloaded && upstreams_.has_alternative(now, record.item);
  const RetryDecision decision =
      decide_retry(retry, *end.fault, has_alternative ? std::nullopt : end.retry_after, now,
                   record.attempts, random_);
  if (!decision.again || end.begun) {
    // Followers that received part of the answer share its end, whatever that is.
    const bool cancelled = end.fault == Fault::kCancelled && !end.begun;
    return finish(now, id, cancelled ? ItemEnd::kCancelled : ItemEnd::kFailed, actions);
  }
  // It has attempts left, so its failure would not have been its end.
  if (is_given_up) return finish(now, id, ItemEnd::kCancelled, actions);
  ++counts_.retries;
  if (!retry_at) retry_at = decision.at;
  if (*retry_at <= now) return enqueue(now, record);
  items_.set_backoff(record, *retry_at);
}

// --- ends of items ------------------------------------------------------------------------------

// For an item that was in flight, or is cancelled with all others: its followers end with it.
void DispatchPolicy::finish(TimePoint now, ItemId id, ItemEnd how, Actions& actions) {
  const std::optional<Hash128> question = items_.at(id).item.same_answer;
  const Attempts attempts = end(id, how, id, actions);
  if (!question) return;
  if (how == ItemEnd::kCancelled && !retries_ended_) {
    // The call was cancelled, and not its followers.
    if (const auto heir = single_flight_.leave(*question, id)) enqueue(now, items_.at(*heir));
    return;
  }
  for (const ItemId follower : single_flight_.leader_ended(*question, id)) {
    if (how == ItemEnd::kCancelled) {
      end(follower, how, follower, actions);
      continue;
    }
    ++counts_.coalesced;
    items_.at(follower).attempts = attempts;
    end(follower, how, id, actions);
  }
}

// For an item that ends by itself, while others may go on: its first follower takes over.
void DispatchPolicy::leave(ItemId id, ItemEnd how, Actions& actions) {
  Record& record = items_.at(id);
  std::optional<ItemId> heir;
  if (record.item.same_answer) heir = single_flight_.leave(*record.item.same_answer, id);
  if (heir) {
    promote(record, items_.at(*heir));
    actions.emplace_back(PromoteFollower{.from = id, .heir = *heir});
  } else {
    dequeue(record);
  }
  end(id, how, id, actions);
}

void DispatchPolicy::promote(Record& from, Record& heir) {
  const ItemId id = from.item.id;
  const ItemId heir_id = heir.item.id;
  items_.take_over(from, heir);
  switch (heir.state()) {
    case QueueState::kQueued:
      replace_queued(id, heir.item);
      return;
    case QueueState::kInFlight:
      std::ranges::replace(calls_.at(heir.call).items, id, heir_id);
      break;
    case QueueState::kBackoff:
      break;
    case QueueState::kFollowing:
    case QueueState::kNone:
      ENSURE(false, "item {} leads and is in no queue", id.value());
  }
  if (heir.handed_out) {
    const bool was_out = queue_.replace(id, heir.item);
    ENSURE(was_out, "item {} was not handed out", id.value());
  }
}

Attempts DispatchPolicy::end(ItemId id, ItemEnd how, ItemId outcome_of, Actions& actions) {
  const Record& record = items_.at(id);
  const Attempts attempts = record.attempts;
  if (record.handed_out) queue_.ended(record.item);
  items_.remove(id);
  actions.emplace_back(
      Ended{.item = id, .how = how, .attempts = attempts, .outcome_of = outcome_of});
  return attempts;
}

// --- cancelled ----------------------------------------------------------------------------------

void DispatchPolicy::cancel_waiting(Actions& actions) {
  retries_ended_ = true;
  for (const ItemId id : items_.queued_and_backoff()) {
    dequeue(items_.at(id));
    finish({}, id, ItemEnd::kCancelled, actions);
  }
}

void DispatchPolicy::cancel(TimePoint now, ItemId id, Actions& actions) {
  if (items_.find(id) == nullptr) return;
  Record& record = items_.at(id);
  if (record.cancelled) return;
  const std::optional<Hash128>& question = record.item.same_answer;
  const bool leads = question && single_flight_.has_followers(*question);
  if (record.state() != QueueState::kInFlight || leads) {
    leave(id, ItemEnd::kCancelled, actions);
    return pump(now, actions);
  }
  // An equal item that is submitted from now on makes a call of its own.
  if (question) single_flight_.leave(*question, id);
  record.item.same_answer.reset();
  record.cancelled = true;
  Call& call = calls_.at(record.call);
  if (++call.cancelled == call.items.size()) actions.emplace_back(Stop{record.call});
}

}  // namespace windrow::dispatch
