// How items end: with their calls, or by themselves.
#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "dispatch/dispatch_policy.h"

namespace windrow::dispatch {

// --- calls ---------------------------------------------------------------------------------------

void DispatchPolicy::ended(TimePoint now, CallId id, const CallEnd& end, Actions& actions) {
  const auto found = calls_.find(id);
  ENSURE(found != calls_.end(), "call {} ended twice or was never made", id.value());
  const Call call = std::move(found->second);
  calls_.erase(found);
  items_out_ -= call.items.size();
  report(now, call, end);
  settle(call, end);
  // Those that were out together come back together, or they would be calls of one each.
  std::optional<TimePoint> again_at;
  for (const ItemId item : call.items)
    item_ended(now, item, call, end, again_at, actions);
  pump(now, actions);
}

// To everybody who learns from it.
void DispatchPolicy::report(TimePoint now, const Call& call, const CallEnd& end) {
  Upstream& upstream = upstreams_[call.upstream.value()];
  upstream.in_flight -= call.places;
  upstream.in_flight_of[static_cast<size_t>(call.priority)] -= call.places;
  budget_.spend(call.expected, end.cost);

  report_load(now, call, end);
  if (end.fault == Fault::kShortOfFiles) {
    shared_.fell_short(calls_.size());
  } else if (!end.fault) {
    shared_.answered();
  }

  const bool answered = !end.fault || end.answered;
  const bool its_fault = end.fault == Fault::kTransient || end.fault == Fault::kUnreached ||
                         end.fault == Fault::kBackend;
  router_.ended(now, call.upstream, call.tokens,
                answered                            ? Router::End::kAnswered
                : end.fault == Fault::kShortOfFiles ? Router::End::kUnsent
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

// A single refusal is its row's affair, and so is every refusal where people wait for the answer;
// only an overload lowers the limit and makes all of the quota's rows wait.
void DispatchPolicy::report_load(TimePoint now, const Call& call, const CallEnd& end) {
  Upstream& upstream = upstreams_[call.upstream.value()];
  const bool is_own = end.fault == Fault::kOverloaded && options_.retry.refusal_patience;
  const bool refused = end.fault == Fault::kOverloaded && !is_own;
  const bool tells_of_load = refused || end.timed_out || (is_own && is_too_many(call));
  const bool answered = !end.fault || end.answered;
  bool overloaded = false;
  if (answered) {
    upstream.refusals.answered(call.ticket);
  } else if (tells_of_load) {
    overloaded = upstream.refusals.refused(call.ticket);
  } else {
    upstream.refusals.ended_otherwise(call.ticket);
  }
  upstream.limit.ended({.sent = call.sent,
                        .ended = now,
                        .in_flight = call.in_flight,
                        .work = end.work,
                        .end = answered                          ? FlightEnd::kAnswered
                               : overloaded                      ? FlightEnd::kOverloaded
                               : tells_of_load && !end.timed_out ? FlightEnd::kRefused
                                                                 : FlightEnd::kOther});

  Quota& quota = quotas_[upstream.quota];
  const Quota::End quota_end = answered                ? Quota::End::kAnswered
                               : refused && overloaded ? Quota::End::kOverloaded
                               : refused               ? Quota::End::kRefused
                                                       : Quota::End::kOther;
  quota.ended(now, call.grant, quota_end, end.tokens, refused ? end.retry_after : std::nullopt,
              random_);
  const std::optional<TimePoint> paused_until = quota.cooling_until(now);
  if (!refused || !paused_until) return;
  for (Upstream& other : upstreams_) {
    if (other.quota == upstream.quota) other.limit.paused(*paused_until);
  }
}

// Of several, each for its part.
void DispatchPolicy::settle(const Call& call, const CallEnd& end) {
  for (const ItemId id : call.items) {
    const Record& record = records_.at(id);
    const int64_t tokens = record.item.tokens;
    // Who answers and does not say what that took is believed to have taken what was expected.
    int64_t cost = end.fault ? 0 : tokens;
    if (end.computed)
      cost = call.items.size() == 1 ? *end.computed
                                    : *end.computed * tokens / std::max<int64_t>(call.tokens, 1);
    lanes_.settle(record.charge, cost);
  }
}

// Whether a refusal may be for how many there are: beside others, and not of one that is refused
// again and again.
bool DispatchPolicy::is_too_many(const Call& call) const {
  return call.in_flight > 1 && std::ranges::none_of(call.items, [&](ItemId item) {
           return records_.at(item).item.was_refused_by(call.upstream);
         });
}

// To one who has not refused it.
bool DispatchPolicy::may_go_elsewhere(TimePoint now, const WorkItem& item) const {
  for (uint32_t i = 0; i < upstreams_.size(); ++i) {
    const UpstreamId id(i);
    if (item.may_go_to(id) && !item.was_refused_by(id) && router_.usable(id, now)) return true;
  }
  return false;
}

void DispatchPolicy::item_ended(TimePoint now, ItemId id, const Call& call, const CallEnd& end,
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
  if (end.fault == Fault::kOverloaded) record.item.refused_by |= WorkItem::bit_of(call.upstream);
  const bool others = end.fault == Fault::kOverloaded && may_go_elsewhere(now, record.item);
  const RetryDecision decision = decide_retry(
      retry, *end.fault, others ? std::nullopt : end.retry_after, now, record.attempts, random_);
  if (!decision.again || end.begun) {
    // Those who heard a beginning share its end, whatever that is.
    const bool cancelled = end.fault == Fault::kCancelled && !end.begun;
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

// What was out has ended.
void DispatchPolicy::finish(TimePoint now, ItemId id, ItemEnd how, Actions& actions) {
  const std::optional<Hash128> question = records_.at(id).item.same_answer;
  const Attempts attempts = end(id, how, actions);
  if (!question) return;
  if (how == ItemEnd::kCancelled && !no_more_tries_) {
    // Somebody ended the call, and not the question.
    if (const auto promoted = coalescer_.leave(*question, id)) enqueue(now, records_.at(*promoted));
    return;
  }
  for (const ItemId follower : coalescer_.leader_ended(*question, id)) {
    if (how == ItemEnd::kCancelled) {
      end(follower, how, actions);
      continue;
    }
    ++counts_.coalesced;
    remove(follower);
    actions.emplace_back(
        Ended{.item = follower, .how = how, .attempts = attempts, .outcome_of = id});
  }
}

Attempts DispatchPolicy::end(ItemId id, ItemEnd how, Actions& actions) {
  const Attempts attempts = remove(id);
  actions.emplace_back(Ended{.item = id, .how = how, .attempts = attempts, .outcome_of = id});
  return attempts;
}

Attempts DispatchPolicy::remove(ItemId id) {
  const auto found = records_.find(id);
  Record& record = found->second;
  set_place(record, std::nullopt);
  if (record.of_lanes) lanes_.ended(record.item);
  const Attempts attempts = record.attempts;
  records_.erase(found);
  return attempts;
}

// --- items that end by themselves ----------------------------------------------------------------

// Its question, if others ask it too, goes on with the first of them.
void DispatchPolicy::leave(ItemId id, ItemEnd how, Actions& actions) {
  Record& record = records_.at(id);
  std::optional<ItemId> heir;
  if (record.item.same_answer) heir = coalescer_.leave(*record.item.same_answer, id);
  if (heir) {
    inherit(record, records_.at(*heir));
    actions.emplace_back(PromoteFollower{.from = id, .heir = *heir});
  } else {
    take_out(record);
  }
  end(id, how, actions);
}

void DispatchPolicy::take_out(Record& record) {
  switch (*record.place) {
    case Place::kWaiting:
      if (lanes_.take(record.item.id)) {
        record.of_lanes = false;  // to lanes_ it is gone already
      } else {
        const bool packed = packer_.take(record.item.id).has_value();
        ENSURE(packed, "item {} waits nowhere", record.item.id.value());
      }
      break;
    case Place::kLater:
      later_.erase({record.later, record.item.id});
      break;
    case Place::kFollowing:
      break;
    case Place::kOut:
      ENSURE(false, "item {} ends before its call", record.item.id.value());
  }
}

// All but who it is.
void DispatchPolicy::inherit(Record& from, Record& heir) {
  const ItemId id = from.item.id;
  const std::optional<Place> place = from.place;
  set_place(from, std::nullopt);
  heir.item.pack = from.item.pack;
  heir.item.refused_by = from.item.refused_by;
  heir.attempts = std::exchange(from.attempts, {});
  heir.later = from.later;
  heir.call = from.call;
  heir.charge = from.charge;
  heir.of_lanes = std::exchange(from.of_lanes, false);
  heir.rows_max = from.rows_max;
  set_place(heir, place);
  switch (*place) {
    case Place::kWaiting:
      replace_waiting(id, heir.item);
      return;
    case Place::kLater:
      later_.erase({heir.later, id});
      later_.emplace(heir.later, heir.item.id);
      break;
    case Place::kOut:
      std::ranges::replace(calls_.at(heir.call).items, id, heir.item.id);
      break;
    case Place::kFollowing:
      ENSURE(false, "item {} follows and has followers", id.value());
  }
  if (heir.of_lanes) {
    const bool was_out = lanes_.replace(id, heir.item);
    ENSURE(was_out, "item {} was not handed out", id.value());
  }
}

void DispatchPolicy::replace_waiting(ItemId id, const WorkItem& item) {
  const bool waits = lanes_.replace(id, item) || packer_.replace(id, item);
  ENSURE(waits, "item {} waits nowhere", id.value());
}

void DispatchPolicy::expire(TimePoint now, Actions& actions) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const ItemId id = deadlines_.begin()->second;
    const Record& record = records_.at(id);
    if (record.place == Place::kFollowing &&
        records_.at(coalescer_.leader_of(*record.item.same_answer)).place == Place::kOut) {
      deadlines_.erase(deadlines_.begin());  // it is sent
    } else {
      leave(id, ItemEnd::kExpired, actions);
    }
  }
}

void DispatchPolicy::cancel_waiting(Actions& actions) {
  no_more_tries_ = true;
  std::vector<ItemId> waiting;
  for (const auto& of_priority : waiting_) {
    for (const auto& [came, id] : of_priority)
      waiting.push_back(id);
  }
  for (const auto& [at, id] : later_)
    waiting.push_back(id);
  for (const ItemId id : waiting) {
    take_out(records_.at(id));
    finish({}, id, ItemEnd::kCancelled, actions);
  }
}

void DispatchPolicy::cancel(TimePoint now, ItemId id, Actions& actions) {
  const auto found = records_.find(id);
  if (found == records_.end() || found->second.unwanted) return;
  Record& record = found->second;
  if (record.place == Place::kOut && !leads_others(record)) {
    // Who asks the same now asks anew.
    if (record.item.same_answer) coalescer_.leave(*record.item.same_answer, id);
    record.item.same_answer.reset();
    record.unwanted = true;
    Call& call = calls_.at(record.call);
    if (++call.unwanted == call.items.size()) actions.emplace_back(Stop{record.call});
    return;
  }
  leave(id, ItemEnd::kCancelled, actions);
  pump(now, actions);
}

}  // namespace windrow::dispatch
