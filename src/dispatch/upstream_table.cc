#include "dispatch/upstream_table.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::dispatch {
namespace {

void keep_earliest(std::optional<TimePoint>& at, std::optional<TimePoint> other) {
  if (other && (!at || *other < *at)) at = other;
}

Router::End router_end(const CallEnd& end) {
  if (!end.fault || end.answered) return Router::End::kAnswered;
  switch (*end.fault) {
    case Fault::kShortOfFiles:
      return Router::End::kUnsent;
    case Fault::kTransient:
    case Fault::kUnreached:
    case Fault::kBackend:
      return end.replied ? Router::End::kReplied : Router::End::kFailed;
    default:
      return Router::End::kNeither;
  }
}

}  // namespace

UpstreamTable::UpstreamTable(UpstreamTableOptions options)
    : refusals_are_own_(options.refusals_are_own),
      quotas_(options.quotas.begin(), options.quotas.end()),
      reserve_(options.reserve),
      router_(options.upstreams.size(), options.router, options.seed),
      shared_(options.calls_max) {
  ENSURE(!options.upstreams.empty(), "there is no upstream to send anything to");
  for (const UpstreamOptions& upstream : options.upstreams) {
    ENSURE(upstream.quota < quotas_.size(), "an upstream draws on quota {} of {}", upstream.quota,
           quotas_.size());
    upstreams_.push_back({.limit = ConcurrencyLimit(upstream.concurrency),
                          .quota = upstream.quota,
                          .pack_rows_max = upstream.pack_rows_max,
                          .slots_by_rows = upstream.slots_by_rows});
  }
}

// --- sending ------------------------------------------------------------------------------------

// Where all upstreams together may have only so many calls, each finds its own number within its
// share.
void UpstreamTable::begin_round(TimePoint now) {
  round_at_ = now;
  quota_wakes_at_.reset();
  if (!shared_.is_limited()) return;
  wanted_.clear();
  for (uint32_t i = 0; i < upstreams_.size(); ++i) {
    // An upstream that gets nothing at the moment needs one call, the probe.
    const UpstreamId id(i);
    wanted_.push_back(router_.health(id) == Health::kGood ? upstreams_[i].limit.limit() : 1);
  }
  for (size_t i = 0; i < upstreams_.size(); ++i)
    upstreams_[i].limit.set_most(now, shared_.most_for(i, wanted_));
}

bool UpstreamTable::find_open(TimePoint now, size_t calls) {
  open_.clear();
  if (!shared_.has_room(calls)) return false;
  for (uint32_t i = 0; i < upstreams_.size(); ++i) {
    const UpstreamId id(i);
    router_.set_capacity(id, limit(id));
    if (has_slot(id, Priority::kInteractive) && router_.usable(id, now)) open_.push_back(id);
  }
  return !open_.empty();
}

bool UpstreamTable::has_slot(UpstreamId id, Priority priority) const {
  return reserve_.has_slot(limit(id), at(id).in_flight_of, priority);
}

// For an item that has a slot there.
int32_t UpstreamTable::slots_of(UpstreamId id, const WorkItem& item) const {
  if (!at(id).slots_by_rows) return 1;
  const int32_t left = reserve_.slots_left(limit(id), at(id).in_flight_of, item.priority);
  return std::max(std::min({item.slots(), left, limit(id) / 2}), 1);
}

std::optional<UpstreamId> UpstreamTable::choose(TimePoint now, const WorkItem& item,
                                                bool anywhere) {
  open_for_item_.clear();
  for (const UpstreamId id : open_) {
    if (!item.may_go_to(id) || !has_slot(id, item.priority)) continue;
    const auto ready = quotas_[at(id).quota].ready_at(now, item.tokens);
    if (ready && *ready <= now) {
      open_for_item_.push_back(id);
    } else {
      keep_earliest(quota_wakes_at_, ready);
    }
  }
  // Rather to an upstream that has not refused it.
  const auto has_refused = [&](UpstreamId id) { return item.was_refused_by(id); };
  if (item.refused_by != 0 && !std::ranges::all_of(open_for_item_, has_refused))
    std::erase_if(open_for_item_, has_refused);
  return router_.choose(item.group, open_for_item_, anywhere);
}

UpstreamCall UpstreamTable::send(TimePoint now, UpstreamId id, int64_t tokens, Priority priority,
                                 size_t items, const WorkItem* alone) {
  Upstream& upstream = upstreams_[id.value()];
  UpstreamCall call{.upstream = id,
                    .tokens = tokens,
                    .priority = priority,
                    .items = items,
                    .grant = quotas_[upstream.quota].take(now, tokens),
                    .sent = now,
                    .slots = alone != nullptr ? slots_of(id, *alone) : 1};
  upstream.in_flight += call.slots;
  upstream.in_flight_of[static_cast<size_t>(priority)] += call.slots;
  call.in_flight = upstream.in_flight;
  router_.sent(now, id, alone != nullptr ? alone->group : 0, tokens);
  upstream.limit.sent(now, call.in_flight);
  call.ticket = upstream.refusals.sent();
  return call;
}

// --- ends ---------------------------------------------------------------------------------------

void UpstreamTable::ended(TimePoint now, const UpstreamCall& call, const CallEnd& end,
                          bool refused_before, size_t calls, Random& random) {
  Upstream& upstream = upstreams_[call.upstream.value()];
  upstream.in_flight -= call.slots;
  upstream.in_flight_of[static_cast<size_t>(call.priority)] -= call.slots;
  report_load(now, call, end, refused_before, random);
  if (end.fault == Fault::kShortOfFiles) {
    shared_.fell_short(calls);
  } else if (!end.fault) {
    shared_.answered();
  }
  router_.ended(now, call.upstream, call.tokens, router_end(end));
  // It may be an upstream that always answers only the first of several inputs.
  if (call.items > 1 && end.unmatched) {
    upstream.pack_rows_max = std::min(upstream.pack_rows_max, static_cast<int32_t>(call.items / 2));
  }
}

// A single refusal concerns its item alone, and so does every refusal where clients wait for the
// answer; only an overload lowers the limit and pauses all items of the quota.
void UpstreamTable::report_load(TimePoint now, const UpstreamCall& call, const CallEnd& end,
                                bool refused_before, Random& random) {
  Upstream& upstream = upstreams_[call.upstream.value()];
  const bool is_own = end.fault == Fault::kOverloaded && refusals_are_own_;
  const bool refused = end.fault == Fault::kOverloaded && !is_own;
  // An own refusal may be for load where other calls were in flight and it is the item's first.
  const bool is_sign_of_load =
      refused || end.timed_out || (is_own && call.in_flight > 1 && !refused_before);
  const bool answered = !end.fault || end.answered;
  bool overloaded = false;
  if (answered) {
    upstream.refusals.answered(call.ticket);
  } else if (is_sign_of_load) {
    overloaded = upstream.refusals.refused(call.ticket);
  } else {
    upstream.refusals.ended_otherwise(call.ticket);
  }
  upstream.limit.ended({.sent = call.sent,
                        .ended = now,
                        .in_flight = call.in_flight,
                        .work = end.work,
                        .end = answered                            ? FlightEnd::kAnswered
                               : overloaded                        ? FlightEnd::kOverloaded
                               : is_sign_of_load && !end.timed_out ? FlightEnd::kRefused
                                                                   : FlightEnd::kOther});

  Quota& quota = quotas_[upstream.quota];
  const Quota::End quota_end = answered                ? Quota::End::kAnswered
                               : refused && overloaded ? Quota::End::kOverloaded
                               : refused               ? Quota::End::kRefused
                                                       : Quota::End::kOther;
  quota.ended(now, call.grant, quota_end, end.tokens, refused ? end.retry_after : std::nullopt,
              random);
  const std::optional<TimePoint> paused_until = quota.cooling_until(now);
  if (!refused || !paused_until) return;
  for (Upstream& other : upstreams_) {
    if (other.quota == upstream.quota) other.limit.paused(*paused_until);
  }
}

bool UpstreamTable::has_alternative(TimePoint now, const WorkItem& item) const {
  for (uint32_t i = 0; i < upstreams_.size(); ++i) {
    const UpstreamId id(i);
    if (item.may_go_to(id) && !item.was_refused_by(id) && router_.usable(id, now)) return true;
  }
  return false;
}

// --- times and readings -------------------------------------------------------------------------

void UpstreamTable::wake(TimePoint now) {
  for (Upstream& upstream : upstreams_)
    upstream.limit.wake(now);
}

std::optional<TimePoint> UpstreamTable::wake_at() const {
  std::optional<TimePoint> at = quota_wakes_at_;
  keep_earliest(at, router_.wake_at(round_at_));
  for (const Upstream& upstream : upstreams_)
    keep_earliest(at, upstream.limit.wake_at());
  return at;
}

int32_t UpstreamTable::limit(UpstreamId upstream) const {
  return at(upstream).given_limit.value_or(at(upstream).limit.limit());
}

size_t UpstreamTable::slots_in_flight() const {
  size_t sum = 0;
  for (const Upstream& upstream : upstreams_)
    sum += static_cast<size_t>(upstream.in_flight);
  return sum;
}

}  // namespace windrow::dispatch
