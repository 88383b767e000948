#include "dispatch/capacity_gate.h"

#include <algorithm>

namespace windrow::dispatch {
namespace {

// Items that wait for the answer of an equal one: a bound of memory.
constexpr int32_t kFollowersMax = 10'000;

int32_t waiting_max_of(const DispatchOptions& options) {
  const int32_t packs = options.packer.rows_max > 1 ? 2 * options.packer.rows_max : 0;
  return std::max({options.waiting_max, packs, 0});
}

}  // namespace

CapacityGate::CapacityGate(const std::vector<DispatchUpstream>& upstreams,
                           const DispatchOptions& options, DispatchPolicy& policy)
    : upstreams_(upstreams),
      in_flight_max_(options.in_flight_max),
      waiting_max_(waiting_max_of(options)),
      policy_(policy) {}

bool CapacityGate::wait(std::unique_lock<std::mutex>& lock, const std::stop_token& left) {
  ++submitters_waiting_;
  capacity_grew_.wait(lock, [&] { return !admitting_ || left.stop_requested() || free() > 0; });
  --submitters_waiting_;
  return admitting_ && !left.stop_requested();
}

// Calls that are out take slots, and items that will be sent again will take one.
bool CapacityGate::admits(const WorkItem& item) const {
  if (!admitting_ || policy_.followers() >= kFollowersMax) return false;
  const size_t taken = policy_.backlog(item.priority) + policy_.slots_in_flight();
  return taken < static_cast<size_t>(capacity()) || policy_.would_follow(item);
}

void CapacityGate::stop_admitting() {
  admitting_ = false;
  wake_submitters();
}

void CapacityGate::end_request() {
  --in_flight_;
  wake_waiters();
}

void CapacityGate::end_outside_call() {
  --outside_calls_;
  wake_waiters();
}

void CapacityGate::wait_idle(std::unique_lock<std::mutex>& lock) {
  became_idle_.wait(lock, [this] { return in_flight_ == 0 && outside_calls_ == 0; });
}

void CapacityGate::update_limits() {
  for (size_t i = 0; i < upstreams_.size(); ++i) {
    if (upstreams_[i].concurrency) continue;
    policy_.set_limit(UpstreamId(static_cast<uint32_t>(i)), window_of(upstreams_[i]));
  }
}

void CapacityGate::wake_waiters() {
  if (submitters_waiting_ > 0 && is_worth_waking(free(), waiting_max_, policy_.queued()))
    wake_submitters();
  if (in_flight_ == 0 && outside_calls_ == 0) became_idle_.notify_all();
}

int32_t CapacityGate::capacity() const {
  int32_t sum = waiting_max_;
  for (size_t i = 0; i < upstreams_.size(); ++i) {
    const bool measured = upstreams_[i].concurrency.has_value();
    sum +=
        measured ? policy_.limit(UpstreamId(static_cast<uint32_t>(i))) : window_of(upstreams_[i]);
  }
  return sum;
}

int32_t CapacityGate::window_of(const DispatchUpstream& upstream) const {
  if (in_flight_max_ > 0) return in_flight_max_;
  return std::max(upstream.backend->in_flight_target(), 1);
}

// Followers keep no upstream busy, and the items of a packed call take one slot.
int32_t CapacityGate::free() const {
  const auto followers = static_cast<int32_t>(policy_.followers());
  const auto packed = static_cast<int32_t>(policy_.items_in_flight() - policy_.calls_in_flight());
  return followers < kFollowersMax ? capacity() - (in_flight_ - followers - packed) : 0;
}

}  // namespace windrow::dispatch
