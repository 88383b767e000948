#include "dispatch/router.h"

#include <algorithm>
#include <cmath>

#include "base/ensure.h"

namespace windrow::dispatch {

Router::Router(size_t upstreams, RouterOptions options, uint64_t seed)
    : options_(options), random_(seed), upstreams_(upstreams) {}

void Router::set_capacity(UpstreamId upstream, int32_t in_flight_max) {
  upstreams_[upstream.value()].capacity = std::max(in_flight_max, 1);
}

bool Router::usable(UpstreamId upstream, TimePoint now) const {
  const Upstream& it = upstreams_[upstream.value()];
  return it.health == Health::kGood || (it.health == Health::kEjected && now >= it.ejected_until);
}

double Router::mean_load() const {
  double outstanding = 0;
  double capacity = 0;
  for (const Upstream& upstream : upstreams_) {
    if (upstream.health != Health::kGood) continue;
    outstanding += static_cast<double>(upstream.outstanding);
    capacity += upstream.capacity;
  }
  return capacity > 0 ? outstanding / capacity : 0;
}

std::optional<UpstreamId> Router::choose(uint64_t group, std::span<const UpstreamId> open,
                                         bool anywhere) const {
  if (open.empty()) return std::nullopt;
  const auto lighter = [&](UpstreamId a, UpstreamId b) {
    return upstreams_[a.value()].load() < upstreams_[b.value()].load();
  };
  const UpstreamId lightest = *std::min_element(open.begin(), open.end(), lighter);
  const auto known = groups_.find(group);
  if (group == 0 || known == groups_.end()) return lightest;

  const double too_much = options_.overload * mean_load();
  std::optional<UpstreamId> home;
  bool all_too_much = true;
  for (const UpstreamId candidate : known->second.homes) {
    const Upstream& upstream = upstreams_[candidate.value()];
    if (upstream.health != Health::kGood) continue;
    if (upstream.outstanding > 0 && upstream.load() > too_much) continue;
    all_too_much = false;
    const bool has_room = std::ranges::find(open, candidate) != open.end();
    if (has_room && (!home || lighter(candidate, *home))) home = candidate;
  }
  if (home) return home;
  if (all_too_much || anywhere) return lightest;
  return std::nullopt;
}

void Router::sent(TimePoint now, UpstreamId id, uint64_t group, int64_t tokens) {
  Upstream& upstream = upstreams_[id.value()];
  ENSURE(usable(id, now), "upstream {} was ejected and is given a row", id.value());
  if (upstream.health == Health::kEjected) upstream.health = Health::kProbing;
  upstream.outstanding += tokens;
  ++upstream.calls;
  if (group == 0) return;
  const auto [found, fresh] = groups_.try_emplace(group);
  if (fresh) {
    used_.push_front(group);
  } else {
    used_.splice(used_.begin(), used_, found->second.used);
  }
  found->second.used = used_.begin();
  std::vector<UpstreamId>& homes = found->second.homes;
  if (std::ranges::find(homes, id) == homes.end()) homes.push_back(id);
  if (groups_.size() <= options_.groups_max) return;
  groups_.erase(used_.back());
  used_.pop_back();
}

bool Router::is_last(const Upstream& upstream) const {
  return std::ranges::none_of(upstreams_, [&](const Upstream& other) {
    return &other != &upstream && other.health == Health::kGood;
  });
}

void Router::eject(TimePoint now, Upstream& upstream, Duration max) {
  const double whole = static_cast<double>(options_.ejected_base.count()) *
                       std::exp2(std::min(upstream.ejections, 20));
  const double bounded = std::min(whole, static_cast<double>(max.count()));
  // Several upstreams behind one broken link are not all tried in the same moment.
  const double jitter = 0.9 + 0.2 * random_.unit();
  upstream.health = Health::kEjected;
  upstream.ejected_until = now + Duration(static_cast<Duration::rep>(bounded * jitter));
  ++upstream.ejections;
  upstream.failures = 0;
  upstream.failure_rate = 0;
  upstream.ends = 0;
}

void Router::ended(TimePoint now, UpstreamId id, int64_t tokens, End end) {
  Upstream& upstream = upstreams_[id.value()];
  upstream.outstanding -= tokens;
  --upstream.calls;
  ENSURE(upstream.calls >= 0, "upstream {} ended more calls than it was given", id.value());
  if (options_.failures_max == 0) return;
  if (upstream.health == Health::kEjected) return;  // sent before; it says nothing new
  if (end == End::kUnsent) {
    // It is still to be seen whether it is back; the next row may look at once.
    if (upstream.health == Health::kProbing) upstream.health = Health::kEjected;
    return;
  }
  if (end == End::kNeither) {
    // The server answers. Whether it is healthy, the next row will show.
    if (upstream.health == Health::kProbing) upstream.health = Health::kGood;
    return;
  }
  if (end == End::kAnswered) {
    if (upstream.health == Health::kProbing) upstream.health = Health::kGood;
    upstream.failures = 0;
  } else {
    ++upstream.failures;
  }
  // A moving mean over about `recent` ends.
  ++upstream.ends;
  const double weight = 1.0 / std::min(upstream.ends, options_.recent);
  upstream.failure_rate += weight * ((end == End::kAnswered ? 0 : 1) - upstream.failure_rate);
  const bool many = upstream.ends >= options_.recent;
  if (many && upstream.failure_rate < 0.1) upstream.ejections = 0;
  if (end == End::kAnswered) return;
  const bool spared = end == End::kReplied && is_last(upstream);
  const int32_t failures_max =
      spared ? std::max(options_.last_failures_max, options_.failures_max) : options_.failures_max;
  const bool fails_often = !spared && many && upstream.failure_rate >= 0.5;
  const bool probe_failed = upstream.health == Health::kProbing;
  if (upstream.failures >= failures_max || fails_often || probe_failed) {
    eject(now, upstream, spared ? options_.last_ejected_max : options_.ejected_max);
  }
}

std::optional<TimePoint> Router::wake_at(TimePoint now) const {
  std::optional<TimePoint> at;
  for (const Upstream& upstream : upstreams_) {
    const bool waits = upstream.health == Health::kEjected && upstream.ejected_until > now;
    if (waits && (!at || upstream.ejected_until < *at)) at = upstream.ejected_until;
  }
  return at;
}

}  // namespace windrow::dispatch
