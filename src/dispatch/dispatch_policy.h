// DispatchPolicy: everything that dispatch decides, as one state machine: events in, actions out.
// Pure; used by one thread at a time. The dispatcher drives it: it carries out the actions and
// reports what came of them.
//
//   submit ----> single flight --leader--> queue or packer --capacity--> Send ----> ended
//                    |                           ^                                    |
//                 follower                       '------- retry, after back-off ------|
//                    '------------------- the leader's outcome --------> Ended <------'
//
// The items and their states are in an ItemTable, the upstreams and their capacity in an
// UpstreamTable; what is decided here is the way of an item between them.
//
// Invariants:
//   every item that was submitted is in exactly one state until its one Ended;
//   no upstream has more in flight than its concurrency limit, nor all together more calls than
//     calls_max; nothing is sent to an upstream that is ejected or whose quota is used up;
//   of equal items one is in flight at a time; a call is stopped when all of its items were
//     cancelled, and only then;
//   after cancel_waiting nothing is retried; what is submitted afterwards is sent once.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "dispatch/budget.h"
#include "dispatch/item_table.h"
#include "dispatch/packer.h"
#include "dispatch/request_queue.h"
#include "dispatch/retry_policy.h"
#include "dispatch/single_flight.h"
#include "dispatch/upstream_table.h"
#include "dispatch/work_item.h"
#include "queueing/reserve.h"

namespace windrow::dispatch {

struct DispatchPolicyOptions {
  std::vector<UpstreamOptions> upstreams;
  std::vector<QuotaOptions> quotas = {{}};
  RetryOptions retry;
  RequestQueueOptions queue;
  queueing::ReserveOptions reserve;
  PackerOptions packer;
  RouterOptions router;
  Cost cost_max = 0;  // 0: no limit

  // Calls in flight of all upstreams together; 0: as many as these take.
  int32_t calls_max = 0;
  uint64_t seed = 1;
};

// Send these items to that upstream, in one call.
struct Send {
  CallId call;
  UpstreamId upstream;
  std::vector<ItemId> items;
  int64_t tokens = 0;  // about what it costs
  PackReason reason = PackReason::kAlone;
};

enum class ItemEnd : uint8_t {
  kAnswered,
  kFailed,     // with the failure of its last call
  kCancelled,  // also what would have been retried
  kExpired,    // its deadline passed before it was sent
};

// The item has ended.
struct Ended {
  ItemId item;
  ItemEnd how = ItemEnd::kAnswered;
  Attempts attempts;

  // The item whose answer or failure it gets: itself, or the leader of equal items, whose Ended
  // stands before this one among the same actions.
  ItemId outcome_of;
};

// All items of this call were cancelled.
struct Stop {
  CallId call;
};

// An equal item is queued or in flight already: this one waits for its outcome.
struct Follow {
  ItemId item;
  ItemId leader;
};

// The leader of equal items ends by itself, and its first follower takes over its call and what
// earlier calls have cost.
struct PromoteFollower {
  ItemId from;
  ItemId heir;
};

using Action = std::variant<Send, Ended, Stop, Follow, PromoteFollower>;
using Actions = std::vector<Action>;

// Since the start.
struct DispatchPolicyCounts {
  int64_t calls = 0;
  int64_t batches = 0;       // packed calls, also of one item
  int64_t batched_rows = 0;  // items in them
  int64_t coalesced = 0;     // items that got the outcome of another
  int64_t retries = 0;       // times that an item was to be retried after a failure
};

class DispatchPolicy {
 public:
  explicit DispatchPolicy(DispatchPolicyOptions options);

  // --- events: each adds to `actions` what is to be done now ---

  // A new item; its id is unique. `expected`: what it costs at most, for cost_max.
  void submit(TimePoint now, const WorkItem& item, Cost expected, Actions& actions);

  // A call that a Send began has ended; once for each, also for one that a Stop named.
  void ended(TimePoint now, CallId call, const CallEnd& end, Actions& actions);

  // Time has passed; see wake_at().
  void wake(TimePoint now, Actions& actions);

  // Ends what is not in flight with kCancelled. Nothing is retried from now on.
  void cancel_waiting(Actions& actions);

  // Ends this item. If it is in flight it ends with its call, which is stopped when all of its
  // items were cancelled. An unknown item is ignored.
  void cancel(TimePoint now, ItemId item, Actions& actions);

  // For an upstream whose limit is decided elsewhere.
  void set_limit(UpstreamId upstream, int32_t limit) { upstreams_.set_limit(upstream, limit); }

  // When to call wake() if nothing else happens.
  std::optional<TimePoint> wake_at() const;

  // --- readings of one item ---

  // Both are false for an item that has ended.
  bool is_in_flight(ItemId item) const;  // itself: a follower is not

  // It is queued or in back-off, or follows an item that is.
  bool is_waiting(ItemId item) const;

  // It would wait for the outcome of an equal item.
  bool would_follow(const WorkItem& item) const {
    return item.lane == 0 && item.same_answer && single_flight_.is_asked(*item.same_answer);
  }

  // The items of a call in flight, in the order of its Send; a follower may have taken over from
  // one. Valid until the next event.
  const std::vector<ItemId>& items_of(CallId call) const { return calls_.at(call).items; }

  // --- readings of all ---

  size_t unfinished() const { return items_.size(); }  // items

  // Queued for an upstream to have capacity.
  size_t queued() const { return queue_.size() + packer_.waiting(); }
  QueueReading queue(TimePoint now) const { return items_.queue(now); }
  std::vector<TenantReading> tenants() const { return items_.tenants(); }
  size_t backlog(Priority priority) const { return items_.backlog(priority); }
  RetryReading retries() const { return items_.retries(options_.retry.attempts_max); }

  size_t followers() const { return single_flight_.followers(); }
  size_t items_in_flight() const { return items_.in_flight(); }
  size_t calls_in_flight() const { return calls_.size(); }
  size_t slots_in_flight() const { return upstreams_.slots_in_flight(); }

  // Items are queued at this moment because of calls_max.
  bool is_at_calls_max() const {
    return options_.calls_max > 0 && std::cmp_greater_equal(calls_.size(), options_.calls_max) &&
           queued() > 0;
  }

  // Nothing is sent any more because of cost_max, and nothing in flight can change that.
  bool budget_is_spent() const { return budget_is_spent_; }
  Cost spent() const { return budget_.spent(); }
  const DispatchPolicyCounts& counts() const { return counts_; }

  int32_t limit(UpstreamId upstream) const { return upstreams_.limit(upstream); }
  int32_t in_flight(UpstreamId upstream) const { return upstreams_.in_flight(upstream); }
  Health health(UpstreamId upstream) const { return upstreams_.health(upstream); }
  ConcurrencyFinding finding(UpstreamId upstream) const { return upstreams_.finding(upstream); }

 private:
  using Record = ItemTable::Record;

  struct Call {
    UpstreamCall sent;
    std::vector<ItemId> items;
    size_t cancelled = 0;  // of its items
    Cost expected = 0;
  };

  void enqueue(TimePoint now, Record& record);
  void dequeue(Record& record);
  void replace_queued(ItemId id, const WorkItem& item);
  void raise(ItemId leader, const WorkItem& follower);

  void pump(TimePoint now, Actions& actions);
  void expire(TimePoint now, Actions& actions);
  bool send_packed(TimePoint now, Actions& actions);
  bool send_one(TimePoint now, bool anywhere, Actions& actions);
  void send(TimePoint now, UpstreamId upstream, std::vector<ItemId> items, int64_t tokens,
            PackReason reason, Actions& actions);

  void settle(TimePoint now, const Call& call, const CallEnd& end);
  void call_ended(TimePoint now, ItemId id, const Call& call, const CallEnd& end,
                  std::optional<TimePoint>& retry_at, Actions& actions);
  void finish(TimePoint now, ItemId id, ItemEnd how, Actions& actions);
  void leave(ItemId id, ItemEnd how, Actions& actions);
  void promote(Record& from, Record& heir);
  Attempts end(ItemId id, ItemEnd how, ItemId outcome_of, Actions& actions);

  const DispatchPolicyOptions options_;
  Random random_;
  ItemTable items_;
  UpstreamTable upstreams_;
  Budget budget_;
  SingleFlight single_flight_;
  RequestQueue queue_;
  Packer packer_;
  boost::unordered_flat_map<CallId, Call, std::hash<CallId>> calls_;

  DispatchPolicyCounts counts_;
  TimePoint pumped_at_{};
  bool retries_ended_ = false;
  bool packed_first_ = false;  // packed calls and others take turns
  bool budget_is_spent_ = false;
};

}  // namespace windrow::dispatch
