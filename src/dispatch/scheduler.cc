#include "dispatch/scheduler.h"

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

}  // namespace

Scheduler::Scheduler(SchedulerOptions options)
    : options_(std::move(options)),
      random_(options_.seed),
      quotas_(options_.quotas.begin(), options_.quotas.end()),
      budget_(options_.cost_max),
      router_(options_.upstreams.size(), options_.router, options_.seed),
      lanes_(options_.lanes),
      packer_(within(options_.packer, options_.quotas)) {
  ENSURE(!options_.upstreams.empty(), "there is nobody to send anything to");
  for (const UpstreamOptions& upstream : options_.upstreams) {
    ENSURE(upstream.quota < quotas_.size(), "an upstream draws on quota {} of {}", upstream.quota,
           quotas_.size());
    upstreams_.push_back({.limit = ConcurrencyLimit(upstream.concurrency),
                          .quota = upstream.quota,
                          .pack_rows_max = upstream.pack_rows_max});
  }
}

int32_t Scheduler::limit(UpstreamId upstream) const {
  return at(upstream).told.value_or(at(upstream).limit.limit());
}

void Scheduler::set_limit(UpstreamId upstream, int32_t limit) {
  upstreams_[upstream.value()].told = limit;
}

QueueReading Scheduler::queue(TimePoint now) const {
  QueueReading reading;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    reading.waiting[i] = static_cast<int32_t>(waiting_[i].size());
    if (!waiting_[i].empty()) reading.oldest_age[i] = now - waiting_[i].begin()->first;
  }
  return reading;
}

size_t Scheduler::backlog(Urgency urgency) const {
  size_t sum = 0;
  for (size_t i = 0; i <= static_cast<size_t>(urgency); ++i)
    sum += waiting_[i].size() + later_count_[i];
  return sum;
}

// --- in -----------------------------------------------------------------------------------------

void Scheduler::submit(TimePoint now, const WorkItem& item, Cost expected, Actions& actions) {
  const auto [found, fresh] = records_.try_emplace(item.id);
  ENSURE(fresh, "item {} was submitted already", item.id.value());
  Record& record = found->second;
  record.item = item;
  record.came = now;
  record.expected = expected;
  // What must keep its place in a lane cannot be answered out of turn.
  if (item.lane != 0) record.item.same_answer.reset();
  if (record.item.same_answer && !coalescer_.join(*record.item.same_answer, item.id)) {
    set_place(record, Place::kFollowing);
    return;
  }
  enqueue(now, record);
  pump(now, actions);
}

// Keeps count of who is where.
void Scheduler::set_place(Record& record, std::optional<Place> place) {
  const auto urgency = static_cast<size_t>(record.item.urgency);
  if (record.place == Place::kWaiting) waiting_[urgency].erase({record.came, record.item.id});
  if (record.place == Place::kLater) --later_count_[urgency];
  record.place = place;
  if (place == Place::kWaiting) waiting_[urgency].emplace(record.came, record.item.id);
  if (place == Place::kLater) ++later_count_[urgency];
}

void Scheduler::enqueue(TimePoint now, Record& record) {
  set_place(record, Place::kWaiting);
  if (packer_.packs(record.item)) {
    packer_.add(now, record.item, record.rows_max);
  } else if (record.of_lanes) {
    lanes_.put_back(record.item);
  } else {
    lanes_.push(record.item);
  }
}

void Scheduler::wake(TimePoint now, Actions& actions) {
  for (Upstream& upstream : upstreams_)
    upstream.limit.wake(now);
  pump(now, actions);
}

std::optional<TimePoint> Scheduler::wake_at() const {
  std::optional<TimePoint> at = packer_.wake_at(pumped_at_);
  if (!later_.empty()) keep_earlier(at, later_.begin()->first);
  keep_earlier(at, lanes_.next_deadline());
  if (lanes_.size() + packer_.waiting() == 0) return at;
  keep_earlier(at, quota_wakes_at_);
  for (const Upstream& upstream : upstreams_)
    keep_earlier(at, upstream.limit.wake_at());
  return at;
}

// --- out ----------------------------------------------------------------------------------------

void Scheduler::pump(TimePoint now, Actions& actions) {
  pumped_at_ = now;
  while (!later_.empty() && later_.begin()->first <= now) {
    const ItemId id = later_.begin()->second;
    later_.erase(later_.begin());
    enqueue(now, records_.at(id));
  }
  expire(now, actions);
  quota_wakes_at_.reset();
  budget_is_spent_ = false;
  for (;;) {
    if (lanes_.size() + packer_.waiting() == 0) break;
    find_open(now);
    if (open_.empty()) break;
    const bool sent = pack_first_ ? send_pack(now, actions) || send_one(now, false, actions)
                                  : send_one(now, false, actions) || send_pack(now, actions);
    // Rather a second home for a group than an upstream without work.
    if (!sent && !send_one(now, true, actions)) break;
    pack_first_ = !pack_first_;
  }
  if (lanes_.size() + packer_.waiting() > 0) keep_earlier(quota_wakes_at_, router_.wake_at(now));
}

void Scheduler::find_open(TimePoint now) {
  open_.clear();
  for (uint32_t i = 0; i < upstreams_.size(); ++i) {
    const UpstreamId id(i);
    router_.set_capacity(id, limit(id));
    if (upstreams_[i].in_flight < limit(id) && router_.usable(id, now)) open_.push_back(id);
  }
}

std::optional<UpstreamId> Scheduler::choose(TimePoint now, const WorkItem& item, bool anywhere) {
  open_for_item_.clear();
  for (const UpstreamId id : open_) {
    if (!item.may_go_to(id)) continue;
    const auto ready = quotas_[at(id).quota].ready_at(now, item.tokens);
    if (ready && *ready <= now) {
      open_for_item_.push_back(id);
    } else {
      keep_earlier(quota_wakes_at_, ready);
    }
  }
  return router_.choose(item.group, open_for_item_, anywhere);
}

bool Scheduler::send_one(TimePoint now, bool anywhere, Actions& actions) {
  std::optional<UpstreamId> upstream;
  const std::optional<WorkItem> item = lanes_.next([&](const WorkItem& offered) {
    upstream = choose(now, offered, anywhere);
    return upstream.has_value() && afford(offered);
  });
  if (!item) return false;
  records_.at(item->id).of_lanes = true;
  send(now, *upstream, {item->id}, item->tokens, PackReason::kAlone, actions);
  return true;
}

bool Scheduler::send_pack(TimePoint now, Actions& actions) {
  std::optional<Pack> pack = packer_.next(now);
  if (!pack) return false;
  const WorkItem whole{.tokens = pack->tokens, .upstreams = pack->items.front().upstreams};
  const std::optional<UpstreamId> upstream = choose(now, whole, true);
  if (upstream) {
    if (const auto rest = split_pack(*pack, at(*upstream).pack_rows_max)) packer_.put_back(*rest);
  }
  const int32_t affordable = upstream ? affordable_rows(*pack) : 0;
  if (affordable == 0) {
    budget_is_spent_ =
        upstream && budget_.spent_for_good(records_.at(pack->items.front().id).expected);
    packer_.put_back(*pack);
    return false;
  }
  if (const auto rest = split_pack(*pack, affordable)) packer_.put_back(*rest);
  std::vector<ItemId> ids;
  ids.reserve(pack->items.size());
  for (const WorkItem& item : pack->items)
    ids.push_back(item.id);
  send(now, *upstream, std::move(ids), pack->tokens, pack->reason, actions);
  return true;
}

// How many of its first rows the budget has room for; nothing is kept back yet.
int32_t Scheduler::affordable_rows(const Pack& pack) {
  Cost sum = 0;
  int32_t rows = 0;
  for (const WorkItem& item : pack.items) {
    const Cost expected = records_.at(item.id).expected;
    if (!budget_.keep_back(expected)) break;
    sum += expected;
    ++rows;
  }
  budget_.spend(sum, 0);
  return rows;
}

// Whether the budget has room; nothing is kept back yet.
bool Scheduler::afford(const WorkItem& item) {
  const Cost expected = records_.at(item.id).expected;
  if (budget_.keep_back(expected)) {
    budget_.spend(expected, 0);
    return true;
  }
  budget_is_spent_ = budget_.spent_for_good(expected);
  return false;
}

void Scheduler::send(TimePoint now, UpstreamId id, std::vector<ItemId> items, int64_t tokens,
                     PackReason reason, Actions& actions) {
  Upstream& upstream = upstreams_[id.value()];
  Call call{.upstream = id, .items = items, .tokens = tokens, .sent = now};
  for (const ItemId item : items) {
    Record& record = records_.at(item);
    set_place(record, Place::kOut);
    call.expected += record.expected;
  }
  const bool kept_back = budget_.keep_back(call.expected);
  ENSURE(kept_back, "a call of {} goes out without a budget", call.expected);
  call.grant = quotas_[upstream.quota].take(now, tokens);
  call.in_flight = ++upstream.in_flight;
  const uint64_t group = items.size() == 1 ? records_.at(items.front()).item.group : 0;
  router_.sent(now, id, group, tokens);
  upstream.limit.sent(now, call.in_flight);
  items_out_ += items.size();
  if (reason != PackReason::kAlone) {
    ++counts_.batches;
    counts_.batched_rows += static_cast<int64_t>(items.size());
  }
  const CallId call_id(static_cast<uint64_t>(++counts_.calls));
  calls_.emplace(call_id, std::move(call));
  actions.emplace_back(Send{.call = call_id,
                            .upstream = id,
                            .items = std::move(items),
                            .tokens = tokens,
                            .reason = reason});
}

// --- ends ---------------------------------------------------------------------------------------

void Scheduler::ended(TimePoint now, CallId id, const CallEnd& end, Actions& actions) {
  const auto found = calls_.find(id);
  ENSURE(found != calls_.end(), "call {} ended twice or was never made", id.value());
  const Call call = std::move(found->second);
  calls_.erase(found);
  items_out_ -= call.items.size();
  report(now, call, end);
  // Those that were out together come back together, or they would be calls of one each.
  std::optional<TimePoint> again_at;
  for (const ItemId item : call.items)
    item_ended(now, item, call, end, again_at, actions);
  pump(now, actions);
}

// To everybody who learns from it.
void Scheduler::report(TimePoint now, const Call& call, const CallEnd& end) {
  Upstream& upstream = upstreams_[call.upstream.value()];
  --upstream.in_flight;
  budget_.spend(call.expected, end.cost);

  const bool refused = end.fault == Fault::kOverloaded;
  const bool well = !end.fault || end.answered;
  const FlightEnd flight = well                       ? FlightEnd::kAnswered
                           : refused || end.timed_out ? FlightEnd::kOverloaded
                                                      : FlightEnd::kOther;
  upstream.limit.ended({.sent = call.sent,
                        .ended = now,
                        .in_flight = call.in_flight,
                        .work = end.work,
                        .end = flight});

  const Quota::End quota_end = well      ? Quota::End::kAnswered
                               : refused ? Quota::End::kRefused
                                         : Quota::End::kOther;
  quotas_[upstream.quota].ended(now, call.grant, quota_end, end.tokens,
                                refused ? end.retry_after : std::nullopt, random_);

  const bool its_fault = end.fault == Fault::kTransient || end.fault == Fault::kUnreached ||
                         end.fault == Fault::kBackend;
  router_.ended(now, call.upstream, call.tokens,
                well        ? Router::End::kAnswered
                : its_fault ? (end.replied ? Router::End::kReplied : Router::End::kFailed)
                            : Router::End::kNeither);
  if (call.items.size() == 1) return;
  if (!end.fault) {
    packer_.size().answered(call.tokens, now - call.sent);
  } else if (end.too_large || end.timed_out) {
    packer_.size().too_large(call.tokens);
  }
  // It may be one that answers the first of several only, and would do so each time.
  if (end.unmatched) {
    upstream.pack_rows_max =
        std::min(upstream.pack_rows_max, static_cast<int32_t>(call.items.size() / 2));
  }
}

void Scheduler::item_ended(TimePoint now, ItemId id, const Call& call, const CallEnd& end,
                           std::optional<TimePoint>& again_at, Actions& actions) {
  Record& record = records_.at(id);
  if (!end.fault) {
    ++record.attempts.used;
    return finish(now, id, ItemEnd::kAnswered, actions);
  }
  // Of a call of several nobody knows whose the failure is. Halves will tell, and a row fails only
  // with a call of its own.
  const bool was_packed = call.items.size() > 1;
  const bool unwanted = no_more_tries_ || record.unwanted;
  RetryOptions retry = options_.retry;
  if (was_packed && (end.fault == Fault::kRequest || end.fault == Fault::kTransient)) {
    record.rows_max = static_cast<int32_t>(call.items.size() / 2);
    retry.attempts_max = INT32_MAX;
    if (end.fault == Fault::kRequest) {
      if (unwanted) return finish(now, id, ItemEnd::kCancelled, actions);
      ++counts_.retries;
      return enqueue(now, record);
    }
  }
  const RetryDecision decision =
      decide_retry(retry, *end.fault, end.retry_after, now, record.attempts, random_);
  if (!decision.again) {
    const bool cancelled = end.fault == Fault::kCancelled;
    return finish(now, id, cancelled ? ItemEnd::kCancelled : ItemEnd::kFailed, actions);
  }
  // Its attempts are not used up, so its failure is not the last word.
  if (unwanted) return finish(now, id, ItemEnd::kCancelled, actions);
  ++counts_.retries;
  if (!again_at) again_at = decision.at;
  if (*again_at <= now) return enqueue(now, record);
  set_place(record, Place::kLater);
  record.later = *again_at;
  later_.emplace(*again_at, id);
}

void Scheduler::finish(TimePoint now, ItemId id, ItemEnd how, Actions& actions) {
  for (std::optional<ItemId> next = id; next;) {
    const auto found = records_.find(*next);
    set_place(found->second, std::nullopt);
    const Record record = found->second;
    records_.erase(found);
    actions.emplace_back(
        Ended{.item = *next, .how = how, .attempts = record.attempts, .outcome_of = *next});
    if (record.of_lanes) lanes_.ended(record.item);
    const ItemId ended = *next;
    next.reset();
    if (!record.item.same_answer) return;
    // A cancel and a deadline are the item's own; anything else any other would get too.
    if (how == ItemEnd::kAnswered || how == ItemEnd::kFailed) {
      for (const ItemId follower : coalescer_.leader_ended(*record.item.same_answer, ended)) {
        records_.erase(follower);
        ++counts_.coalesced;
        actions.emplace_back(
            Ended{.item = follower, .how = how, .attempts = record.attempts, .outcome_of = ended});
      }
      return;
    }
    const auto promoted = coalescer_.leave(*record.item.same_answer, ended);
    if (!promoted) return;
    if (no_more_tries_) {
      how = ItemEnd::kCancelled;
      next = promoted;
    } else {
      enqueue(now, records_.at(*promoted));
    }
  }
}

void Scheduler::expire(TimePoint now, Actions& actions) {
  for (;;) {
    std::vector<WorkItem> expired = lanes_.take_expired(now);
    for (const WorkItem& item : packer_.take_expired(now))
      expired.push_back(item);
    if (expired.empty()) return;
    for (const WorkItem& item : expired) {
      // It waits no more: to lanes_ it is gone already.
      records_.at(item.id).of_lanes = false;
      finish(now, item.id, ItemEnd::kExpired, actions);
    }
  }
}

// --- cancels ------------------------------------------------------------------------------------

void Scheduler::cancel_waiting(Actions& actions) {
  no_more_tries_ = true;
  std::vector<ItemId> waiting;
  for (const WorkItem& item : lanes_.take_all()) {
    records_.at(item.id).of_lanes = false;
    waiting.push_back(item.id);
  }
  for (const WorkItem& item : packer_.take_all())
    waiting.push_back(item.id);
  for (const auto& [at, id] : later_)
    waiting.push_back(id);
  later_.clear();
  for (const ItemId id : waiting)
    finish({}, id, ItemEnd::kCancelled, actions);
}

void Scheduler::cancel(TimePoint now, ItemId id, Actions& actions) {
  const auto found = records_.find(id);
  if (found == records_.end()) return;
  Record& record = found->second;
  switch (*record.place) {
    case Place::kOut:
      record.unwanted = true;
      return;
    case Place::kWaiting:
      if (lanes_.take(id)) {
        record.of_lanes = false;
      } else {
        const bool packed = packer_.take(id).has_value();
        ENSURE(packed, "item {} waits nowhere", id.value());
      }
      break;
    case Place::kLater:
      later_.erase({record.later, id});
      break;
    case Place::kFollowing:
      break;
  }
  finish(now, id, ItemEnd::kCancelled, actions);
  pump(now, actions);
}

}  // namespace windrow::dispatch
