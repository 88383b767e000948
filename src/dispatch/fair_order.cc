#include "dispatch/fair_order.h"

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

int64_t FairOrder::service_of(int64_t tokens, int32_t weight) {
  return std::max<int64_t>(tokens, 0) * kServiceOfToken / std::max(weight, 1);
}

FairOrder::Rank FairOrder::rank_of(uint64_t id, const Owner& owner) {
  return {.service = owner.settled + owner.expected, .last_turn = owner.last_turn, .owner = id};
}

FairOrder::Rank FairOrder::rank_of(uint64_t id) const {
  const auto found = owners_.find(id);
  Owner owner = found == owners_.end() ? Owner{} : found->second;
  if (!owner.ready) owner.settled = begin_of(owner);
  return rank_of(id, owner);
}

// What one has that becomes ready.
int64_t FairOrder::begin_of(const Owner& owner) const {
  return std::max({owner.settled, least(), floor_ - owner.expected});
}

// Where those begin who come.
int64_t FairOrder::least() const {
  return settled_.empty() ? left_at_ : settled_.begin()->first;
}

FairOrder::Owner& FairOrder::at(uint64_t id) {
  const auto [found, fresh] = owners_.try_emplace(id);
  if (fresh) found->second.settled = least();
  return found->second;
}

void FairOrder::enter(uint64_t id, Owner& owner) {
  ranks_.insert(rank_of(id, owner));
  settled_.emplace(owner.settled, id);
}

void FairOrder::leave(uint64_t id, Owner& owner) {
  ranks_.erase(rank_of(id, owner));
  settled_.erase({owner.settled, id});
}

void FairOrder::ready(uint64_t id) {
  Owner& owner = at(id);
  ENSURE(!owner.ready, "owner {} is ready already", id);
  owner.settled = begin_of(owner);
  owner.ready = true;
  enter(id, owner);
}

void FairOrder::unready(uint64_t id) {
  Owner& owner = owners_.at(id);
  ENSURE(owner.ready, "owner {} is not ready", id);
  leave(id, owner);
  owner.ready = false;
  left_at_ = owner.settled;
  forget_if_idle(id);
}

FairOrder::Charge FairOrder::charge(uint64_t id, int32_t weight, int64_t tokens) {
  Owner& owner = at(id);
  const Charge charge{.owner = id,
                      .weight = weight,
                      .service = std::min(service_of(tokens, weight), lag_max_ / kExpectedPart)};
  if (owner.ready) leave(id, owner);
  owner.expected += charge.service;
  ++owner.out;
  owner.last_turn = ++turns_;
  if (owner.ready) enter(id, owner);
  return charge;
}

void FairOrder::settle(const Charge& charge, int64_t tokens) {
  const auto found = owners_.find(charge.owner);
  ENSURE(found != owners_.end() && found->second.out > 0, "owner {} has nothing out", charge.owner);
  Owner& owner = found->second;
  if (owner.ready) leave(charge.owner, owner);
  owner.expected -= charge.service;
  --owner.out;
  owner.settled += service_of(tokens, charge.weight);
  if (owner.ready) enter(charge.owner, owner);
  most_ = std::max(most_, owner.settled);
  raise_the_last();
  forget_if_idle(charge.owner);
}

// Each is raised at most once in an eighth of `lag_max`, so that it costs next to nothing.
void FairOrder::raise_the_last() {
  const int64_t floor = most_ - lag_max_;
  if (floor < floor_ + lag_max_ / kRaises) return;
  floor_ = floor;
  while (!ranks_.empty() && ranks_.begin()->service < floor_) {
    const uint64_t id = ranks_.begin()->owner;
    Owner& owner = owners_.at(id);
    leave(id, owner);
    owner.settled = floor_ - owner.expected;
    enter(id, owner);
  }
}

// It would begin there, too, if it were new.
void FairOrder::forget_if_idle(uint64_t id) {
  const auto found = owners_.find(id);
  const Owner& owner = found->second;
  if (!owner.ready && owner.out == 0 && owner.settled <= least()) owners_.erase(found);
}

}  // namespace windrow::dispatch
