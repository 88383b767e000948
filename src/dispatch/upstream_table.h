// UpstreamTable: the upstreams of one dispatcher: which of them can take an item now, and what
// their calls say about how much they can take. It puts together what decides that for one upstream
// (its concurrency limit, its quota, its refusals, slots reserved for higher priorities) and for
// all of them (the router, the bound on calls). DispatchPolicy asks it before each call and reports
// each end. Pure; used by one thread at a time.
//
// Invariants:
//   no upstream has more slots taken than its limit, counted when a call is sent;
//   nothing is sent to an upstream that is ejected, or whose quota is used up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "dispatch/budget.h"
#include "dispatch/concurrency_limit.h"
#include "dispatch/quota.h"
#include "dispatch/refusal_watch.h"
#include "dispatch/retry_policy.h"
#include "dispatch/router.h"
#include "dispatch/work_item.h"
#include "queueing/reserve.h"

namespace windrow::dispatch {

struct UpstreamOptions {
  ConcurrencyOptions concurrency;
  size_t quota = 0;                   // index in UpstreamTableOptions::quotas
  int32_t pack_rows_max = INT32_MAX;  // of a packed call to it; 1: it gets no packed calls

  // A call takes WorkItem::slots slots and not one, but no more than are left, nor than half of
  // all. (A call's rows end one after the other without a word: with a slot for each row, slots
  // kept for the last rows would leave the model idle.)
  bool slots_by_rows = false;
};

struct UpstreamTableOptions {
  std::vector<UpstreamOptions> upstreams;  // at least one
  std::vector<QuotaOptions> quotas = {{}};
  queueing::ReserveOptions reserve;
  RouterOptions router;

  // Calls in flight of all upstreams together; 0: as many as these take.
  int32_t calls_max = 0;

  // Clients wait for the answers: a refusal concerns its own item alone, and pauses nothing
  // (RetryOptions::refusal_patience).
  bool refusals_are_own = false;
  uint64_t seed = 1;
};

// How a call ended.
struct CallEnd {
  std::optional<Fault> fault;  // nothing: it was answered
  bool timed_out = false;      // a kTransient that says that the upstream is overloaded
  bool replied = false;        // a kTransient that the upstream itself answered with
  bool answered = false;       // a kTransient although the upstream is well
  bool too_large = false;      // a kRequest that a smaller one would not have been
  bool unmatched = false;      // a kRequest: packed, and the answers do not match the inputs
  bool begun = false;          // part of the answer was delivered, so it may not start over
  bool passed_on = false;      // a reply of an error that is the item's answer (llm::Verbatim)
  std::optional<Duration> retry_after;
  int64_t tokens = 0;  // what it used

  // Tokens that were computed for it; nothing: unknown.
  std::optional<int64_t> computed;
  double work = 1;  // Flight::work
  Cost cost = 0;
};

// A call in flight, as its upstream sees it.
struct UpstreamCall {
  UpstreamId upstream;
  int64_t tokens = 0;                    // about what it costs
  Priority priority = Priority::kBatch;  // the highest of its items
  size_t items = 1;
  Quota::Grant grant;
  RefusalWatch::Ticket ticket = 0;
  TimePoint sent{};
  int32_t slots = 1;
  int32_t in_flight = 1;  // slots taken at its upstream when it was sent, its own included
};

class UpstreamTable {
 public:
  explicit UpstreamTable(UpstreamTableOptions options);

  // --- sending: one round is begin_round, then find_open, choose and send as often as there is
  // something to send ---

  // Shares out what all upstreams may take together.
  void begin_round(TimePoint now);

  // Whether any upstream could take a call now, while `calls` are in flight.
  bool find_open(TimePoint now, size_t calls);

  // The upstream for this item, among those that find_open found; nothing: none can take it now.
  // `anywhere`: an upstream that does not have its prefix is better than to wait.
  std::optional<UpstreamId> choose(TimePoint now, const WorkItem& item, bool anywhere);

  // Takes what the call needs: slots, quota. `alone`: the item, where the call has just one.
  UpstreamCall send(TimePoint now, UpstreamId upstream, int64_t tokens, Priority priority,
                    size_t items, const WorkItem* alone);

  // How many rows of a packed call the upstream takes.
  int32_t pack_rows_max(UpstreamId upstream) const { return at(upstream).pack_rows_max; }

  // --- ends ---

  // Gives back what the call took, and tells everything that learns from it. `refused_before`: an
  // item of it had been refused by this upstream already. `calls`: still in flight.
  void ended(TimePoint now, const UpstreamCall& call, const CallEnd& end, bool refused_before,
             size_t calls, Random& random);

  // Whether an upstream that has not refused this item could be tried.
  bool has_alternative(TimePoint now, const WorkItem& item) const;

  // --- times ---

  // Time has passed: limits may have grown.
  void wake(TimePoint now);

  // When an upstream that could take nothing in the last round may take something.
  std::optional<TimePoint> wake_at() const;

  // --- readings ---

  // For an upstream whose limit is decided elsewhere.
  void set_limit(UpstreamId upstream, int32_t limit) {
    upstreams_[upstream.value()].given_limit = limit;
  }
  int32_t limit(UpstreamId upstream) const;
  int32_t in_flight(UpstreamId upstream) const { return at(upstream).in_flight; }  // slots
  size_t slots_in_flight() const;                                                  // of all
  Health health(UpstreamId upstream) const { return router_.health(upstream); }
  ConcurrencyFinding finding(UpstreamId upstream) const { return at(upstream).limit.finding(); }

 private:
  struct Upstream {
    ConcurrencyLimit limit;
    RefusalWatch refusals = {};
    std::optional<int32_t> given_limit;
    size_t quota = 0;
    int32_t pack_rows_max = INT32_MAX;
    bool slots_by_rows = false;
    int32_t in_flight = 0;                     // slots
    std::array<int32_t, 3> in_flight_of = {};  // by Priority
  };

  const Upstream& at(UpstreamId id) const { return upstreams_[id.value()]; }
  bool has_slot(UpstreamId id, Priority priority) const;
  int32_t slots_of(UpstreamId id, const WorkItem& item) const;
  void report_load(TimePoint now, const UpstreamCall& call, const CallEnd& end, bool refused_before,
                   Random& random);

  const bool refusals_are_own_;
  std::vector<Upstream> upstreams_;
  std::vector<Quota> quotas_;
  queueing::Reserve reserve_;
  Router router_;
  SharedLimit shared_;

  // Of the present round, or the last one.
  TimePoint round_at_{};
  std::vector<UpstreamId> open_;
  std::optional<TimePoint> quota_wakes_at_;

  // Buffers, here to be allocated once.
  std::vector<int32_t> wanted_;
  std::vector<UpstreamId> open_for_item_;
};

}  // namespace windrow::dispatch
