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

// UpstreamOptions::places_by_rows: on average a third of a call's rows is still computed, from 2 to
// 128 of them with lengths that are exponential (one over a harmonic number: 0.67 to 0.18).
constexpr int32_t third_of(int32_t rows) {
  return std::max((rows + 2) / 3, 1);
}

// What waits takes memory and time for its rows, but a queue that two arrays of texts fill is none.
constexpr int32_t kBacklogOfOneMax = 16;

}  // namespace

DispatchPolicy::DispatchPolicy(DispatchPolicyOptions options)
    : options_(std::move(options)),
      random_(options_.seed),
      quotas_(options_.quotas.begin(), options_.quotas.end()),
      budget_(options_.cost_max),
      reserve_(options_.reserve),
      router_(options_.upstreams.size(), options_.router, options_.seed),
      shared_(options_.calls_max),
      lanes_(options_.lanes),
      packer_(within(options_.packer, options_.quotas)) {
  ENSURE(!options_.upstreams.empty(), "there is nobody to send anything to");
  for (const UpstreamOptions& upstream : options_.upstreams) {
    ENSURE(upstream.quota < quotas_.size(), "an upstream draws on quota {} of {}", upstream.quota,
           quotas_.size());
    upstreams_.push_back({.limit = ConcurrencyLimit(upstream.concurrency),
                          .quota = upstream.quota,
                          .pack_rows_max = upstream.pack_rows_max,
                          .places_by_rows = upstream.places_by_rows});
  }
}

int32_t DispatchPolicy::limit(UpstreamId upstream) const {
  return at(upstream).told.value_or(at(upstream).limit.limit());
}

void DispatchPolicy::set_limit(UpstreamId upstream, int32_t limit) {
  upstreams_[upstream.value()].told = limit;
}

QueueReading DispatchPolicy::queue(TimePoint now) const {
  QueueReading reading;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    reading.waiting[i] = static_cast<int32_t>(waiting_[i].size());
    if (!waiting_[i].empty()) reading.oldest_age[i] = now - waiting_[i].begin()->first;
  }
  return reading;
}

size_t DispatchPolicy::backlog(Priority priority) const {
  size_t sum = 0;
  for (size_t i = 0; i <= static_cast<size_t>(priority); ++i)
    sum += backlog_[i];
  return sum;
}

std::vector<TenantReading> DispatchPolicy::tenants() const {
  std::vector<TenantReading> all;
  all.reserve(tenants_.size());
  for (const auto& [id, tenant] : tenants_)
    all.push_back(tenant);
  return all;
}

size_t DispatchPolicy::places_out() const {
  size_t sum = 0;
  for (const Upstream& upstream : upstreams_)
    sum += static_cast<size_t>(upstream.in_flight);
  return sum;
}

bool DispatchPolicy::is_waiting(ItemId item) const {
  const auto found = records_.find(item);
  if (found == records_.end()) return false;
  const Record& record = found->second;
  if (record.place != Place::kFollowing) return record.place != Place::kOut;
  return is_waiting(coalescer_.leader_of(*record.item.same_answer));
}

// --- in -----------------------------------------------------------------------------------------

void DispatchPolicy::submit(TimePoint now, const WorkItem& item, Cost expected, Actions& actions) {
  const auto [found, fresh] = records_.try_emplace(item.id);
  ENSURE(fresh, "item {} was submitted already", item.id.value());
  Record& record = found->second;
  record.item = item;
  record.came = now;
  record.expected = expected;
  // What must keep its place in a lane cannot be answered out of turn.
  if (item.lane != 0) record.item.same_answer.reset();
  if (record.item.same_answer) {
    if (const auto leader = coalescer_.join(*record.item.same_answer, item.id)) {
      set_place(record, Place::kFollowing);
      raise(*leader, item);
      actions.emplace_back(Follow{.item = item.id, .leader = *leader});
      return pump(now, actions);
    }
  }
  enqueue(now, record);
  pump(now, actions);
}

// Keeps count of who is where.
void DispatchPolicy::set_place(Record& record, std::optional<Place> place) {
  const auto priority = static_cast<size_t>(record.item.priority);
  const auto is_in = [](std::optional<Place> it) { return it && *it != Place::kOut; };
  const auto is_behind = [](std::optional<Place> it) {
    return it == Place::kWaiting || it == Place::kLater;
  };
  count_tenant(record.item.tenant, record.place, -1);
  count_tenant(record.item.tenant, place, 1);
  const auto weight = static_cast<size_t>(std::min(third_of(record.item.rows), kBacklogOfOneMax));
  if (is_behind(record.place)) backlog_[priority] -= weight;
  if (is_behind(place)) backlog_[priority] += weight;
  if (record.place == Place::kWaiting) waiting_[priority].erase({record.came, record.item.id});
  if (place == Place::kWaiting) waiting_[priority].emplace(record.came, record.item.id);
  if (record.item.deadline && is_in(record.place) != is_in(place)) {
    const std::pair deadline(*record.item.deadline, record.item.id);
    if (is_in(place)) {
      deadlines_.insert(deadline);
    } else {
      deadlines_.erase(deadline);
    }
  }
  record.place = place;
}

void DispatchPolicy::count_tenant(uint64_t tenant, std::optional<Place> place, int64_t by) {
  if (!place) return;
  const auto [found, fresh] = tenants_.try_emplace(tenant, TenantReading{.tenant = tenant});
  (place == Place::kOut ? found->second.out : found->second.waiting) += by;
  if (found->second.out == 0 && found->second.waiting == 0) tenants_.erase(found);
}

// One who waits in a hurry does not wait for one who is in none, nor one whose turn it is for one
// whose it is not.
void DispatchPolicy::raise(ItemId leader, const WorkItem& follower) {
  Record& record = records_.at(leader);
  const Priority priority = std::min(record.item.priority, follower.priority);
  // What is packed has its turn already.
  const bool takes_over = record.place == Place::kWaiting && !packer_.packs(record.item) &&
                          record.item.tenant != follower.tenant &&
                          lanes_.is_before(priority, follower, record.item);
  if (priority == record.item.priority && !takes_over) return;
  const std::optional<Place> place = record.place;
  set_place(record, std::nullopt);
  record.item.priority = priority;
  if (takes_over) {
    record.item.tenant = follower.tenant;
    record.item.weight = follower.weight;
  }
  set_place(record, place);
  if (place == Place::kWaiting) replace_waiting(leader, record.item);
}

void DispatchPolicy::enqueue(TimePoint now, Record& record) {
  set_place(record, Place::kWaiting);
  if (packer_.packs(record.item)) {
    packer_.add(now, record.item, record.rows_max);
  } else if (record.of_lanes) {
    lanes_.put_back(record.item);
  } else {
    lanes_.push(record.item);
  }
}

void DispatchPolicy::wake(TimePoint now, Actions& actions) {
  for (Upstream& upstream : upstreams_)
    upstream.limit.wake(now);
  pump(now, actions);
}

std::optional<TimePoint> DispatchPolicy::wake_at() const {
  std::optional<TimePoint> at = packer_.wake_at(pumped_at_);
  if (!later_.empty()) keep_earlier(at, later_.begin()->first);
  if (!deadlines_.empty()) keep_earlier(at, deadlines_.begin()->first);
  if (lanes_.size() + packer_.waiting() == 0) return at;
  keep_earlier(at, quota_wakes_at_);
  for (const Upstream& upstream : upstreams_)
    keep_earlier(at, upstream.limit.wake_at());
  return at;
}

// --- out ----------------------------------------------------------------------------------------

void DispatchPolicy::pump(TimePoint now, Actions& actions) {
  pumped_at_ = now;
  while (!later_.empty() && later_.begin()->first <= now) {
    const ItemId id = later_.begin()->second;
    later_.erase(later_.begin());
    enqueue(now, records_.at(id));
  }
  expire(now, actions);
  share_out(now);
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

// Where all upstreams together may have only so many calls, each finds its own number within its
// share.
void DispatchPolicy::share_out(TimePoint now) {
  if (!shared_.is_limited()) return;
  wanted_.clear();
  for (uint32_t i = 0; i < upstreams_.size(); ++i) {
    // One that gets nothing at the moment needs a place for the row that looks whether it is back.
    const UpstreamId id(i);
    wanted_.push_back(router_.health(id) == Health::kGood ? upstreams_[i].limit.limit() : 1);
  }
  for (size_t i = 0; i < upstreams_.size(); ++i)
    upstreams_[i].limit.set_most(now, shared_.most_for(i, wanted_));
}

void DispatchPolicy::find_open(TimePoint now) {
  open_.clear();
  if (!shared_.has_room(calls_.size())) return;
  for (uint32_t i = 0; i < upstreams_.size(); ++i) {
    const UpstreamId id(i);
    router_.set_capacity(id, limit(id));
    const bool has_place =
        reserve_.has_slot(limit(id), at(id).in_flight_of, llm::Priority::kInteractive);
    if (has_place && router_.usable(id, now)) open_.push_back(id);
  }
}

// One that has a place.
int32_t DispatchPolicy::places_of(const Upstream& upstream, int32_t limit,
                                  const WorkItem& item) const {
  if (!upstream.places_by_rows) return 1;
  const int32_t left = reserve_.slots_left(limit, upstream.in_flight_of, item.priority);
  return std::max(std::min({third_of(item.rows), left, limit / 2}), 1);
}

std::optional<UpstreamId> DispatchPolicy::choose(TimePoint now, const WorkItem& item,
                                                 bool anywhere) {
  open_for_item_.clear();
  for (const UpstreamId id : open_) {
    if (!item.may_go_to(id)) continue;
    if (!reserve_.has_slot(limit(id), at(id).in_flight_of, item.priority)) continue;
    const auto ready = quotas_[at(id).quota].ready_at(now, item.tokens);
    if (ready && *ready <= now) {
      open_for_item_.push_back(id);
    } else {
      keep_earlier(quota_wakes_at_, ready);
    }
  }
  // Rather to somebody who has not refused it.
  const auto has_refused = [&](UpstreamId id) { return item.was_refused_by(id); };
  if (item.refused_by != 0 && !std::ranges::all_of(open_for_item_, has_refused))
    std::erase_if(open_for_item_, has_refused);
  return router_.choose(item.group, open_for_item_, anywhere);
}

bool DispatchPolicy::send_one(TimePoint now, bool anywhere, Actions& actions) {
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

bool DispatchPolicy::send_pack(TimePoint now, Actions& actions) {
  std::optional<Pack> pack = packer_.next(now);
  if (!pack) return false;
  WorkItem whole{.tokens = pack->tokens, .upstreams = pack->items.front().upstreams};
  for (const WorkItem& item : pack->items)
    whole.priority = std::min(whole.priority, item.priority);
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
int32_t DispatchPolicy::affordable_rows(const Pack& pack) {
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
bool DispatchPolicy::afford(const WorkItem& item) {
  const Cost expected = records_.at(item.id).expected;
  if (budget_.keep_back(expected)) {
    budget_.spend(expected, 0);
    return true;
  }
  budget_is_spent_ = budget_.spent_for_good(expected);
  return false;
}

void DispatchPolicy::send(TimePoint now, UpstreamId id, std::vector<ItemId> items, int64_t tokens,
                          PackReason reason, Actions& actions) {
  Upstream& upstream = upstreams_[id.value()];
  const CallId call_id(static_cast<uint64_t>(++counts_.calls));
  Call call{.upstream = id, .items = items, .tokens = tokens, .sent = now};
  for (const ItemId item : items) {
    Record& record = records_.at(item);
    set_place(record, Place::kOut);
    record.call = call_id;
    record.charge = lanes_.charge(record.item);
    call.expected += record.expected;
    call.priority = std::min(call.priority, record.item.priority);
  }
  const bool kept_back = budget_.keep_back(call.expected);
  ENSURE(kept_back, "a call of {} goes out without a budget", call.expected);
  call.grant = quotas_[upstream.quota].take(now, tokens);
  if (items.size() == 1)
    call.places = places_of(upstream, limit(id), records_.at(items.front()).item);
  upstream.in_flight += call.places;
  upstream.in_flight_of[static_cast<size_t>(call.priority)] += call.places;
  call.in_flight = upstream.in_flight;
  const uint64_t group = items.size() == 1 ? records_.at(items.front()).item.group : 0;
  router_.sent(now, id, group, tokens);
  upstream.limit.sent(now, call.in_flight);
  call.ticket = upstream.refusals.sent();
  items_out_ += items.size();
  if (reason != PackReason::kAlone) {
    ++counts_.batches;
    counts_.batched_rows += static_cast<int64_t>(items.size());
  }
  calls_.emplace(call_id, std::move(call));
  actions.emplace_back(Send{.call = call_id,
                            .upstream = id,
                            .items = std::move(items),
                            .tokens = tokens,
                            .reason = reason});
}

}  // namespace windrow::dispatch
