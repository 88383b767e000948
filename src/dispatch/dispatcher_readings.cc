// How many requests a dispatcher lets in, and what it says of itself.
#include <algorithm>

#include "dispatch/dispatcher.h"
#include "dispatch/wake_rule.h"

namespace windrow::dispatch {
namespace {

// Requests that wait for the answer of an equal one: a bound of memory.
constexpr int32_t kFollowersMax = 10'000;

}  // namespace

// Who waits for another's answer keeps nobody busy, and a call of several does so once.
int32_t Dispatcher::free_slots() const {
  const auto followers = static_cast<int32_t>(policy_.followers());
  const auto packed = static_cast<int32_t>(policy_.items_in_flight() - policy_.calls_in_flight());
  return followers < kFollowersMax ? room() - (in_flight_ - followers - packed) : 0;
}

// What is out takes a place, and what is to go again will. Who follows takes none.
bool Dispatcher::has_room_for(const WorkItem& item) const {
  if (policy_.followers() >= kFollowersMax) return false;
  const size_t taken = policy_.backlog(item.priority) + policy_.slots_in_flight();
  return taken < static_cast<size_t>(room()) || policy_.would_follow(item);
}

bool Dispatcher::is_open_to(const WorkItem& item) const {
  const std::scoped_lock lock(mutex_);
  return admitting_ && has_room_for(item);
}

void Dispatcher::notify_waiters() {
  if (submitters_waiting_ > 0) {
    if (is_worth_waking(free_slots(), waiting_max_, policy_.queued())) room_grew_.notify_all();
  }
  if (is_idle()) became_idle_.notify_all();
}

int32_t Dispatcher::room() const {
  int32_t sum = waiting_max_;
  for (size_t i = 0; i < upstreams_.size(); ++i) {
    const DispatchUpstream& upstream = upstreams_[i];
    if (upstream.concurrency) {
      sum += policy_.limit(UpstreamId(static_cast<uint32_t>(i)));
    } else {
      sum +=
          in_flight_max_ > 0 ? in_flight_max_ : std::max(upstream.backend->in_flight_target(), 1);
    }
  }
  return sum;
}

void Dispatcher::tell_limits() {
  for (size_t i = 0; i < upstreams_.size(); ++i) {
    const DispatchUpstream& upstream = upstreams_[i];
    if (upstream.concurrency) continue;
    policy_.set_limit(
        UpstreamId(static_cast<uint32_t>(i)),
        in_flight_max_ > 0 ? in_flight_max_ : std::max(upstream.backend->in_flight_target(), 1));
  }
}

int32_t Dispatcher::in_flight() const {
  const std::scoped_lock lock(mutex_);
  return in_flight_;
}

int32_t Dispatcher::submitters_waiting() const {
  const std::scoped_lock lock(mutex_);
  return submitters_waiting_;
}

int32_t Dispatcher::in_flight_max() const {
  const std::scoped_lock lock(mutex_);
  return room();
}

std::vector<UpstreamReading> Dispatcher::readings() const {
  const std::scoped_lock lock(mutex_);
  std::vector<UpstreamReading> readings;
  readings.reserve(upstreams_.size());
  for (uint32_t i = 0; i < upstreams_.size(); ++i) {
    const UpstreamId id(i);
    readings.push_back({.in_flight = policy_.in_flight(id),
                        .in_flight_max = policy_.limit(id),
                        .health = policy_.health(id),
                        .finding = policy_.finding(id)});
  }
  return readings;
}

std::variant<int64_t, llm::Failure> Dispatcher::count_prompt(const llm::Request& request) const {
  return upstreams_.front().backend->count_prompt(request);
}

bool Dispatcher::is_waiting(ItemId item) const {
  const std::scoped_lock lock(mutex_);
  return policy_.is_waiting(item);
}

QueueReading Dispatcher::queue() const {
  const std::scoped_lock lock(mutex_);
  return policy_.queue(clock_.now());
}

std::vector<TenantReading> Dispatcher::tenants() const {
  const std::scoped_lock lock(mutex_);
  return policy_.tenants();
}

DispatchCounts Dispatcher::counts() const {
  const std::scoped_lock lock(mutex_);
  return {policy_.counts(), cached_, policy_.spent()};
}

bool Dispatcher::budget_is_spent() const {
  const std::scoped_lock lock(mutex_);
  return policy_.budget_is_spent();
}

}  // namespace windrow::dispatch
