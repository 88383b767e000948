#include "dispatch/fair_queue.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::dispatch {
namespace {

// Of a token over a weight of 1, so that a token over a large weight is not nothing.
constexpr int64_t kServiceOfToken = 1024;

// How often within `lag_max` those are raised that are behind.
constexpr int64_t kRaises = 8;

// A part of `lag_max`: nothing is expected to cost more. Clients who want no limit ask for a
// million tokens and get a hundred.
constexpr int64_t kExpectedPart = 8;

}  // namespace

int64_t FairQueue::service_of(int64_t tokens, int32_t weight) {
  return std::max<int64_t>(tokens, 0) * kServiceOfToken / std::max(weight, 1);
}

FairQueue::Rank FairQueue::rank_of(uint64_t id, const Tenant& tenant) {
  return {.service = tenant.settled + tenant.expected, .last_turn = tenant.last_turn, .tenant = id};
}

FairQueue::Rank FairQueue::rank_of(uint64_t id) const {
  const auto found = tenants_.find(id);
  Tenant tenant = found == tenants_.end() ? Tenant{} : found->second;
  if (!tenant.ready) tenant.settled = begin_of(tenant);
  return rank_of(id, tenant);
}

// What one has that becomes ready.
int64_t FairQueue::begin_of(const Tenant& tenant) const {
  return std::max({tenant.settled, least(), floor_ - tenant.expected});
}

// Where those begin who come.
int64_t FairQueue::least() const {
  return settled_.empty() ? left_at_ : settled_.begin()->first;
}

FairQueue::Tenant& FairQueue::at(uint64_t id) {
  const auto [found, fresh] = tenants_.try_emplace(id);
  if (fresh) found->second.settled = least();
  return found->second;
}

void FairQueue::enter(uint64_t id, Tenant& tenant) {
  ranks_.insert(rank_of(id, tenant));
  settled_.emplace(tenant.settled, id);
}

void FairQueue::leave(uint64_t id, Tenant& tenant) {
  ranks_.erase(rank_of(id, tenant));
  settled_.erase({tenant.settled, id});
}

void FairQueue::ready(uint64_t id) {
  Tenant& tenant = at(id);
  ENSURE(!tenant.ready, "tenant {} is ready already", id);
  tenant.settled = begin_of(tenant);
  tenant.ready = true;
  enter(id, tenant);
}

void FairQueue::unready(uint64_t id) {
  Tenant& tenant = tenants_.at(id);
  ENSURE(tenant.ready, "tenant {} is not ready", id);
  leave(id, tenant);
  tenant.ready = false;
  left_at_ = tenant.settled;
  forget_if_idle(id);
}

FairQueue::Charge FairQueue::charge(uint64_t id, int32_t weight, int64_t tokens) {
  Tenant& tenant = at(id);
  const Charge charge{.tenant = id,
                      .weight = weight,
                      .service = std::min(service_of(tokens, weight), lag_max_ / kExpectedPart)};
  if (tenant.ready) leave(id, tenant);
  tenant.expected += charge.service;
  ++tenant.out;
  tenant.last_turn = ++turns_;
  if (tenant.ready) enter(id, tenant);
  return charge;
}

void FairQueue::settle(const Charge& charge, int64_t tokens) {
  const auto found = tenants_.find(charge.tenant);
  ENSURE(found != tenants_.end() && found->second.out > 0, "tenant {} has nothing out",
         charge.tenant);
  Tenant& tenant = found->second;
  if (tenant.ready) leave(charge.tenant, tenant);
  tenant.expected -= charge.service;
  --tenant.out;
  tenant.settled += service_of(tokens, charge.weight);
  if (tenant.ready) enter(charge.tenant, tenant);
  most_ = std::max(most_, tenant.settled);
  raise_the_last();
  forget_if_idle(charge.tenant);
}

// Each is raised at most once in an eighth of `lag_max`, so that it costs next to nothing.
void FairQueue::raise_the_last() {
  const int64_t floor = most_ - lag_max_;
  if (floor < floor_ + lag_max_ / kRaises) return;
  floor_ = floor;
  while (!ranks_.empty() && ranks_.begin()->service < floor_) {
    const uint64_t id = ranks_.begin()->tenant;
    Tenant& tenant = tenants_.at(id);
    leave(id, tenant);
    tenant.settled = floor_ - tenant.expected;
    enter(id, tenant);
  }
}

// It would begin there, too, if it were new.
void FairQueue::forget_if_idle(uint64_t id) {
  const auto found = tenants_.find(id);
  const Tenant& tenant = found->second;
  if (!tenant.ready && tenant.out == 0 && tenant.settled <= least()) tenants_.erase(found);
}

}  // namespace windrow::dispatch
