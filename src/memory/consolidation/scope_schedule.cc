#include "memory/consolidation/scope_schedule.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/ensure.h"

namespace windrow::memory {

ScopeSchedule::ScopeSchedule(int32_t batch_facts_max, int32_t in_flight_max)
    : batch_facts_max_(batch_facts_max), in_flight_max_(in_flight_max) {
  ENSURE(batch_facts_max >= 1, "a batch holds one fact or more, not {}", batch_facts_max);
  ENSURE(in_flight_max >= 1, "one batch or more is in flight, not {}", in_flight_max);
}

void ScopeSchedule::add(const PendingFact& fact) {
  if (fact.scopes_left.empty()) return;
  ENSURE(facts_.size() < std::numeric_limits<FactIndex>::max(), "too many facts for one run");
  const auto index = static_cast<FactIndex>(facts_.size());
  facts_.push_back(fact.id);
  const GroupIndex group = group_of(fact);
  for (const Scope& scope : fact.scopes_left)
    enqueue(scope_of(scope), group, index);
}

std::optional<ScopeBatch> ScopeSchedule::next(TimePoint now) {
  while (!not_due_.empty() && not_due_.begin()->first <= now)
    set_state(not_due_.begin()->second, ScopeState::kReady);
  if (in_flight_ >= in_flight_max_ || fair_.empty()) return std::nullopt;

  const ScopeIndex index = choose();
  set_state(index, ScopeState::kInFlight);
  ScopeRecord& scope = scopes_[index];
  scope.flying = form(scope);
  scope.flying_number = ++numbered_;
  ++scope.handed_out;
  ++in_flight_;

  ScopeBatch batch{.number = numbered_, .scope = *scope.scope, .attempts = scope.flying.attempts};
  batch.facts.reserve(scope.flying.facts.size());
  for (const FactIndex fact : scope.flying.facts)
    batch.facts.push_back(facts_[fact]);
  return batch;
}

std::optional<TimePoint> ScopeSchedule::next_due() const {
  if (not_due_.empty()) return std::nullopt;
  return not_due_.begin()->first;
}

void ScopeSchedule::done(const ScopeBatch& batch) {
  const ScopeIndex index = land(batch);
  ScopeRecord& scope = scopes_[index];
  passes_left_ -= static_cast<int64_t>(scope.flying.facts.size());
  add_batches(index, -1);
  const bool is_empty = scope.put_back.empty() && scope.fronts.empty();
  set_state(index, is_empty ? ScopeState::kIdle : ScopeState::kReady);
}

void ScopeSchedule::split(const ScopeBatch& batch) {
  const ScopeIndex index = land(batch);
  ScopeRecord& scope = scopes_[index];
  const std::vector<FactIndex>& facts = scope.flying.facts;
  ENSURE(facts.size() >= 2, "batch {} of one fact cannot be split", batch.number);
  const auto middle = facts.begin() + static_cast<ptrdiff_t>((facts.size() + 1) / 2);
  scope.put_back.push_back({.facts = {middle, facts.end()}});
  scope.put_back.push_back({.facts = {facts.begin(), middle}});
  add_batches(index, 1);
  set_state(index, ScopeState::kReady);
}

void ScopeSchedule::again(ScopeBatch batch, TimePoint due) {
  const ScopeIndex index = land(batch);
  ScopeRecord& scope = scopes_[index];
  ++scope.flying.attempts;
  scope.put_back.push_back(std::move(scope.flying));
  scope.due = due;
  set_state(index, ScopeState::kNotDue);
}

void ScopeSchedule::hold_back(const ScopeBatch& batch) {
  const ScopeIndex index = land(batch);
  ENSURE(batch.number == numbered_, "batch {} was not handed out last", batch.number);
  --numbered_;
  ScopeRecord& scope = scopes_[index];
  --scope.handed_out;
  scope.put_back.push_back(std::move(scope.flying));
  set_state(index, ScopeState::kHeldBack);
}

void ScopeSchedule::release(const Scope& scope) {
  const auto found = scope_indices_.find(scope);
  ENSURE(found != scope_indices_.end() && scopes_[found->second].state == ScopeState::kHeldBack,
         "a scope is released that was not held back");
  set_state(found->second, ScopeState::kReady);
}

ScopeSchedule::ScopeIndex ScopeSchedule::scope_of(const Scope& scope) {
  const auto [found, is_new] =
      scope_indices_.try_emplace(scope, static_cast<ScopeIndex>(scopes_.size()));
  if (is_new) scopes_.push_back({.scope = &found->first});
  return found->second;
}

ScopeSchedule::GroupIndex ScopeSchedule::group_of(const PendingFact& fact) {
  return group_indices_
      .try_emplace({fact.tags, resolve_scopes(fact.tags, fact.scopes)},
                   static_cast<GroupIndex>(group_indices_.size()))
      .first->second;
}

void ScopeSchedule::enqueue(ScopeIndex scope, GroupIndex group, FactIndex fact) {
  const uint64_t key = uint64_t{scope} << 32 | group;
  const auto [found, is_new] =
      queue_indices_.try_emplace(key, static_cast<QueueIndex>(queues_.size()));
  if (is_new) queues_.emplace_back();
  PassQueue& queue = queues_[found->second];
  if (queue.size() == 0) {
    auto& fronts = scopes_[scope].fronts;
    fronts.emplace_back(fact, found->second);
    std::ranges::push_heap(fronts, std::greater{});
  }
  const int64_t before = batches_in(queue);
  queue.facts.push_back(fact);
  ++passes_left_;
  add_batches(scope, batches_in(queue) - before);
  if (scopes_[scope].state == ScopeState::kIdle) set_state(scope, ScopeState::kReady);
}

int64_t ScopeSchedule::batches_in(const PassQueue& queue) const {
  return (queue.size() + batch_facts_max_ - 1) / batch_facts_max_;
}

ScopeSchedule::FactIndex ScopeSchedule::oldest_of(const ScopeRecord& scope) const {
  FactIndex oldest = std::numeric_limits<FactIndex>::max();
  if (!scope.put_back.empty()) oldest = scope.put_back.back().facts.front();
  if (!scope.fronts.empty()) oldest = std::min(oldest, scope.fronts.front().first);
  return oldest;
}

ScopeSchedule::Rank ScopeSchedule::fair_rank(ScopeIndex index) const {
  const ScopeRecord& scope = scopes_[index];
  return {.first = scope.handed_out, .oldest = oldest_of(scope), .scope = index};
}

ScopeSchedule::Rank ScopeSchedule::long_rank(ScopeIndex index) const {
  const ScopeRecord& scope = scopes_[index];
  return {.first = -scope.batches_left, .oldest = oldest_of(scope), .scope = index};
}

void ScopeSchedule::set_state(ScopeIndex index, ScopeState state) {
  ScopeRecord& scope = scopes_[index];
  if (scope.state == ScopeState::kReady) {
    fair_.erase(fair_rank(index));
    longest_.erase(long_rank(index));
  } else if (scope.state == ScopeState::kNotDue) {
    not_due_.erase({scope.due, index});
  }
  scope.state = state;
  if (state == ScopeState::kReady) {
    fair_.insert(fair_rank(index));
    longest_.insert(long_rank(index));
  } else if (state == ScopeState::kNotDue) {
    not_due_.insert({scope.due, index});
  }
}

void ScopeSchedule::add_batches(ScopeIndex index, int64_t change) {
  if (change == 0) return;
  ScopeRecord& scope = scopes_[index];
  const bool is_ready = scope.state == ScopeState::kReady;
  if (is_ready) longest_.erase(long_rank(index));
  scope.batches_left += change;
  batches_left_ += change;
  if (is_ready) longest_.insert(long_rank(index));
}

ScopeSchedule::ScopeIndex ScopeSchedule::choose() const {
  const Rank& longest = *longest_.begin();
  const bool decides_the_end = -longest.first * in_flight_max_ >= batches_left_;
  return decides_the_end ? longest.scope : fair_.begin()->scope;
}

ScopeSchedule::FormedBatch ScopeSchedule::form(ScopeRecord& scope) {
  if (!scope.put_back.empty()) {
    FormedBatch batch = std::move(scope.put_back.back());
    scope.put_back.pop_back();
    return batch;
  }
  std::ranges::pop_heap(scope.fronts, std::greater{});
  const QueueIndex index = scope.fronts.back().second;
  scope.fronts.pop_back();

  PassQueue& queue = queues_[index];
  const auto first = queue.facts.begin() + static_cast<ptrdiff_t>(queue.taken);
  const int64_t count = std::min(queue.size(), batch_facts_max_);
  FormedBatch batch{.facts = {first, first + count}};
  queue.taken += static_cast<size_t>(count);
  if (queue.size() == 0) {
    queue = {};
  } else {
    scope.fronts.emplace_back(queue.facts[queue.taken], index);
    std::ranges::push_heap(scope.fronts, std::greater{});
  }
  return batch;
}

ScopeSchedule::ScopeIndex ScopeSchedule::land(const ScopeBatch& batch) {
  const auto found = scope_indices_.find(batch.scope);
  ENSURE(found != scope_indices_.end(), "batch {} has a scope without facts", batch.number);
  const ScopeRecord& scope = scopes_[found->second];
  ENSURE(scope.state == ScopeState::kInFlight && scope.flying_number == batch.number,
         "batch {} is not in flight", batch.number);
  --in_flight_;
  return found->second;
}

}  // namespace windrow::memory
