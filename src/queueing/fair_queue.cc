#include "queueing/fair_queue.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::queueing {
namespace {

// Service of a token at weight 1, so that a token at a large weight is not rounded to nothing.
constexpr int64_t kServiceOfToken = 1024;

// Lagging tenants are raised at most so often while the first advances by `lag_max`, so that
// raising costs next to nothing.
constexpr int64_t kRaises = 8;

// No request is expected to cost more than this part of `lag_max`: a client that asks for a million
// tokens gets a hundred.
constexpr int64_t kExpectedPart = 8;

}  // namespace

int64_t FairQueue::service_of(int64_t tokens, int32_t weight) {
  return std::max<int64_t>(tokens, 0) * kServiceOfToken / std::max(weight, 1);
}

FairQueue::Rank FairQueue::rank_of(uint64_t id, const Tenant& tenant) {
  return {
      .service = tenant.settled + tenant.expected, .last_start = tenant.last_start, .tenant = id};
}

FairQueue::Rank FairQueue::rank_of(uint64_t id) const {
  const auto found = tenants_.find(id);
  Tenant tenant = found == tenants_.end() ? Tenant{} : found->second;
  if (!tenant.ready) tenant.settled = service_when_ready(tenant);
  return rank_of(id, tenant);
}

int64_t FairQueue::service_when_ready(const Tenant& tenant) const {
  return std::max({tenant.settled, least_service(), floor_ - tenant.expected});
}

// What a new tenant starts with.
int64_t FairQueue::least_service() const {
  return settled_.empty() ? last_left_ : settled_.begin()->first;
}

FairQueue::Tenant& FairQueue::at(uint64_t id) {
  const auto [found, fresh] = tenants_.try_emplace(id);
  Tenant& tenant = found->second;
  if (fresh) {
    tenant.settled = least_service();
  } else if (tenant.is_idle()) {
    idle_.erase({tenant.settled, id});
  }
  return tenant;
}

void FairQueue::insert(uint64_t id, Tenant& tenant) {
  ranks_.insert(rank_of(id, tenant));
  settled_.emplace(tenant.settled, id);
}

void FairQueue::remove(uint64_t id, Tenant& tenant) {
  ranks_.erase(rank_of(id, tenant));
  settled_.erase({tenant.settled, id});
}

void FairQueue::ready(uint64_t id) {
  Tenant& tenant = at(id);
  ENSURE(!tenant.ready, "tenant {} is ready already", id);
  tenant.settled = service_when_ready(tenant);
  tenant.ready = true;
  insert(id, tenant);
}

void FairQueue::unready(uint64_t id) {
  Tenant& tenant = tenants_.at(id);
  ENSURE(tenant.ready, "tenant {} is not ready", id);
  remove(id, tenant);
  tenant.ready = false;
  last_left_ = tenant.settled;
  note_idle(id, tenant);
  forget_idle();
}

FairQueue::Charge FairQueue::charge(uint64_t id, int32_t weight, int64_t tokens) {
  Tenant& tenant = at(id);
  const Charge charge{.tenant = id,
                      .weight = weight,
                      .service = std::min(service_of(tokens, weight), lag_max_ / kExpectedPart)};
  if (tenant.ready) remove(id, tenant);
  tenant.expected += charge.service;
  ++tenant.in_flight;
  tenant.last_start = ++starts_;
  if (tenant.ready) insert(id, tenant);
  return charge;
}

void FairQueue::settle(const Charge& charge, int64_t tokens) {
  const auto found = tenants_.find(charge.tenant);
  ENSURE(found != tenants_.end() && found->second.in_flight > 0, "tenant {} has nothing in flight",
         charge.tenant);
  Tenant& tenant = found->second;
  if (tenant.ready) remove(charge.tenant, tenant);
  tenant.expected -= charge.service;
  --tenant.in_flight;
  tenant.settled += service_of(tokens, charge.weight);
  if (tenant.ready) insert(charge.tenant, tenant);
  most_ = std::max(most_, tenant.settled);
  raise_lagging();
  note_idle(charge.tenant, tenant);
  forget_idle();
}

void FairQueue::raise_lagging() {
  const int64_t floor = most_ - lag_max_;
  if (floor < floor_ + lag_max_ / kRaises) return;
  floor_ = floor;
  while (!ranks_.empty() && ranks_.begin()->service < floor_) {
    const uint64_t id = ranks_.begin()->tenant;
    Tenant& tenant = tenants_.at(id);
    remove(id, tenant);
    tenant.settled = floor_ - tenant.expected;
    insert(id, tenant);
  }
}

void FairQueue::note_idle(uint64_t id, const Tenant& tenant) {
  if (tenant.is_idle()) idle_.emplace(tenant.settled, id);
}

// A new tenant would start at the same service or at more.
void FairQueue::forget_idle() {
  while (!idle_.empty() && idle_.begin()->first <= least_service()) {
    tenants_.erase(idle_.begin()->second);
    idle_.erase(idle_.begin());
  }
}

}  // namespace windrow::queueing
