#include "dispatch/item_table.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::dispatch {
namespace {

// A queued item takes memory and time for its rows, but two arrays of texts do not make a queue
// full.
constexpr int32_t kBacklogOfItemMax = 16;

size_t backlog_of(const WorkItem& item) {
  return static_cast<size_t>(std::min(item.slots(), kBacklogOfItemMax));
}

bool is_in_backlog(QueueState state) {
  return state == QueueState::kQueued || state == QueueState::kBackoff;
}

bool heeds_deadline(QueueState state) {
  return state != QueueState::kNone && state != QueueState::kInFlight;
}

}  // namespace

ItemTable::Record& ItemTable::add(TimePoint now, const WorkItem& item, Cost expected) {
  const auto [found, fresh] = records_.try_emplace(item.id);
  ENSURE(fresh, "item {} was submitted already", item.id.value());
  Record& record = found->second;
  record.item = item;
  record.submitted = now;
  record.expected = expected;
  return record;
}

void ItemTable::remove(ItemId id) {
  const auto found = records_.find(id);
  set_state(found->second, QueueState::kNone);
  records_.erase(found);
}

const ItemTable::Record* ItemTable::find(ItemId id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? nullptr : &found->second;
}

void ItemTable::set_state(Record& record, QueueState state) {
  const WorkItem& item = record.item;
  const auto priority = static_cast<size_t>(item.priority);
  const QueueState before = record.state_;
  count_tenant(item.tenant, before, -1);
  count_tenant(item.tenant, state, 1);
  if (is_in_backlog(before)) backlog_[priority] -= backlog_of(item);
  if (is_in_backlog(state)) backlog_[priority] += backlog_of(item);
  if (before == QueueState::kQueued) queued_[priority].erase({record.submitted, item.id});
  if (state == QueueState::kQueued) queued_[priority].emplace(record.submitted, item.id);
  if (before == QueueState::kBackoff) backoffs_.erase({record.retry_at, item.id});
  if (state == QueueState::kBackoff) backoffs_.emplace(record.retry_at, item.id);
  if (before == QueueState::kInFlight) --in_flight_;
  if (state == QueueState::kInFlight) ++in_flight_;
  if (item.deadline && heeds_deadline(before) && !heeds_deadline(state))
    deadlines_.erase({*item.deadline, item.id});
  if (item.deadline && !heeds_deadline(before) && heeds_deadline(state))
    deadlines_.emplace(*item.deadline, item.id);
  record.state_ = state;
}

void ItemTable::set_backoff(Record& record, TimePoint retry_at) {
  ENSURE(record.state_ != QueueState::kBackoff, "item {} is in back-off", record.item.id.value());
  record.retry_at = retry_at;
  set_state(record, QueueState::kBackoff);
}

void ItemTable::update(Record& record, Priority priority, uint64_t tenant, int32_t weight) {
  const QueueState state = record.state_;
  set_state(record, QueueState::kNone);
  record.item.priority = priority;
  record.item.tenant = tenant;
  record.item.weight = weight;
  set_state(record, state);
}

void ItemTable::take_over(Record& from, Record& heir) {
  const QueueState state = from.state_;
  set_state(from, QueueState::kNone);
  heir.item.pack = from.item.pack;
  heir.item.refused_by = from.item.refused_by;
  heir.attempts = std::exchange(from.attempts, {});
  heir.retry_at = from.retry_at;
  heir.call = from.call;
  heir.charge = from.charge;
  heir.handed_out = std::exchange(from.handed_out, false);
  heir.rows_max = from.rows_max;
  set_state(heir, state);
}

void ItemTable::count_tenant(uint64_t tenant, QueueState state, int64_t by) {
  if (state == QueueState::kNone) return;
  const auto [found, fresh] = tenants_.try_emplace(tenant, TenantReading{.tenant = tenant});
  TenantReading& reading = found->second;
  (state == QueueState::kInFlight ? reading.out : reading.waiting) += by;
  if (reading.out == 0 && reading.waiting == 0) tenants_.erase(found);
}

// --- readings -----------------------------------------------------------------------------------

QueueReading ItemTable::queue(TimePoint now) const {
  QueueReading reading;
  for (size_t i = 0; i < queued_.size(); ++i) {
    reading.waiting[i] = static_cast<int32_t>(queued_[i].size());
    if (!queued_[i].empty()) reading.oldest_age[i] = now - queued_[i].begin()->first;
  }
  return reading;
}

std::vector<TenantReading> ItemTable::tenants() const {
  std::vector<TenantReading> all;
  all.reserve(tenants_.size());
  for (const auto& [id, tenant] : tenants_)
    all.push_back(tenant);
  return all;
}

size_t ItemTable::backlog(Priority priority) const {
  size_t sum = 0;
  for (size_t i = 0; i <= static_cast<size_t>(priority); ++i)
    sum += backlog_[i];
  return sum;
}

std::vector<ItemId> ItemTable::queued_and_backoff() const {
  std::vector<ItemId> ids;
  for (const ByTime& queued : queued_) {
    for (const auto& [submitted, id] : queued)
      ids.push_back(id);
  }
  for (const auto& [retry_at, id] : backoffs_)
    ids.push_back(id);
  return ids;
}

RetryReading ItemTable::retries(int32_t tries_max) const {
  RetryReading reading;
  if (backoffs_.empty()) return reading;
  reading.waiting = static_cast<int32_t>(backoffs_.size());
  reading.tries_max = tries_max;
  for (const auto& [retry_at, id] : backoffs_)
    reading.try_next = std::max(reading.try_next, at(id).attempts.used + 1);
  return reading;
}

// --- times --------------------------------------------------------------------------------------

std::optional<TimePoint> ItemTable::next_retry() const {
  if (backoffs_.empty()) return std::nullopt;
  return backoffs_.begin()->first;
}

std::optional<ItemId> ItemTable::due_retry(TimePoint now) const {
  if (backoffs_.empty() || backoffs_.begin()->first > now) return std::nullopt;
  return backoffs_.begin()->second;
}

std::optional<TimePoint> ItemTable::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

std::optional<ItemId> ItemTable::overdue(TimePoint now) const {
  if (deadlines_.empty() || deadlines_.begin()->first > now) return std::nullopt;
  return deadlines_.begin()->second;
}

void ItemTable::drop_first_deadline() {
  deadlines_.erase(deadlines_.begin());
}

}  // namespace windrow::dispatch
