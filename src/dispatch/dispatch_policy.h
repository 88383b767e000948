// DispatchPolicy: everything dispatch decides, as one state machine: events in, actions out. Pure;
// used by one thread at a time. The dispatcher is its driver: it does what an action says and
// reports what came of it.
//
//   submit ----> coalescer --leader--> lanes or packer --room--> Send ----> ended
//                    |                      ^                                 |
//                 follower                  '------- again, later ------------|
//                    '--------------- the leader's answer ----------> Ended <-'
//
// Invariants:
//   every item that was submitted is in exactly one place until its one Ended;
//   no upstream has more calls than its concurrency limit says, nor all together more than
//     calls_max; none is sent to while it is ejected
//     or its quota is used up;
//   of equal items one is asked at a time; a call is stopped when nobody wants any of its items,
//     and only then;
//   after cancel_waiting nothing is tried again; what is submitted afterwards is sent once.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "dispatch/budget.h"
#include "dispatch/concurrency_limit.h"
#include "dispatch/packer.h"
#include "dispatch/quota.h"
#include "dispatch/refusal_watch.h"
#include "dispatch/request_queue.h"
#include "dispatch/retry_policy.h"
#include "dispatch/router.h"
#include "dispatch/shared_limit.h"
#include "dispatch/single_flight.h"
#include "dispatch/work_item.h"
#include "queueing/reserve.h"

namespace windrow::dispatch {

struct UpstreamOptions {
  ConcurrencyOptions concurrency;
  size_t quota = 0;  // which of DispatchPolicyOptions::quotas it draws on
  int32_t pack_rows_max =
      INT32_MAX;  // as PackerOptions::rows_max, of this one; 1: it gets no packs

  // A call of several rows takes several places: a third as many as it has rows, for they end one
  // after the other and nobody says so, and places that are kept for the last of them would leave a
  // model with too little to do. But no more than are left, nor than half of all.
  bool places_by_rows = false;
};

struct DispatchPolicyOptions {
  std::vector<UpstreamOptions> upstreams;
  std::vector<QuotaOptions> quotas = {{}};
  RetryOptions retry;
  LaneOptions lanes;
  queueing::ReserveOptions reserve;
  PackerOptions packer;
  RouterOptions router;
  Cost cost_max = 0;  // 0: no limit

  // Calls that may be out at a time, of all upstreams together; 0: as many as these take.
  int32_t calls_max = 0;
  uint64_t seed = 1;
};

// Hand these items to that upstream, in one call.
struct Send {
  CallId call;
  UpstreamId upstream;
  std::vector<ItemId> items;
  int64_t tokens = 0;  // about what it costs
  PackReason reason = PackReason::kAlone;
};

enum class ItemEnd : uint8_t {
  kAnswered,
  kFailed,     // with what its last call failed with
  kCancelled,  // also what would have been tried again
  kExpired,    // its deadline passed before it was sent
};

// The item is done.
struct Ended {
  ItemId item;
  ItemEnd how = ItemEnd::kAnswered;
  Attempts attempts;

  // Whose answer or failure it gets: its own, or that of the leader of equal items, whose Ended
  // stands before this one among the same actions.
  ItemId outcome_of;
};

// Nobody wants the answer of this call any more.
struct Stop {
  CallId call;
};

// What an equal item asks is asked already: this one waits for the answer.
struct Follow {
  ItemId item;
  ItemId leader;
};

// The leader of equal items ends by itself, and what is there of its question (a call that is out,
// what earlier ones cost) is another's from now on.
struct PromoteFollower {
  ItemId from;
  ItemId heir;
};

using Action = std::variant<Send, Ended, Stop, Follow, PromoteFollower>;
using Actions = std::vector<Action>;

// How a call ended.
struct CallEnd {
  std::optional<Fault> fault;  // nothing: it was answered
  bool timed_out = false;      // a kTransient that says that the upstream has too much to do
  bool replied = false;        // a kTransient that the upstream itself answered with
  bool answered = false;       // a kTransient although the upstream is well
  bool too_large = false;      // a kRequest that a smaller one would not have been
  bool unmatched = false;      // a kRequest: several were answered and nobody knows which is whose
  bool begun = false;          // some of the answer was heard, so it may not begin once more
  std::optional<Duration> retry_after;
  int64_t tokens = 0;  // what it used

  // Of these, what was computed; nothing: nobody says.
  std::optional<int64_t> computed;
  double work = 1;  // Flight::work
  Cost cost = 0;
};

// Items that wait for an upstream to have room, by Priority. Items that wait for a time to come or
// for the answer of an equal one are not counted.
struct QueueReading {
  std::array<int32_t, 3> waiting = {};
  std::array<Duration, 3> oldest_age = {};  // since they were submitted; 0 where none waits
};

// The items of a tenant who has any here.
struct TenantReading {
  uint64_t tenant = 0;
  int64_t waiting = 0;  // for room, a time to come, or the answer of an equal one
  int64_t out = 0;
};

// Since the start.
struct SchedulerCounts {
  int64_t calls = 0;
  int64_t batches = 0;       // calls of items that pack, also of one such item
  int64_t batched_rows = 0;  // items in them
  int64_t coalesced = 0;     // items that got the outcome of another
  int64_t retries = 0;       // times that an item was to be tried again after a failure
};

class DispatchPolicy {
 public:
  explicit DispatchPolicy(DispatchPolicyOptions options);

  // Each adds to `actions` what is to be done now.
  void submit(TimePoint now, const WorkItem& item, Cost expected, Actions& actions);
  void ended(TimePoint now, CallId call, const CallEnd& end, Actions& actions);
  void wake(TimePoint now, Actions& actions);

  // Ends what is not out with kCancelled, and tries nothing again.
  void cancel_waiting(Actions& actions);

  // One item. What is out ends with its call, which is stopped when nobody else wants its answer.
  void cancel(TimePoint now, ItemId item, Actions& actions);

  // For an upstream whose limit is told from outside.
  void set_limit(UpstreamId upstream, int32_t limit);

  // When to call wake() if nothing else happens.
  std::optional<TimePoint> wake_at() const;

  // Nothing is sent any more because of cost_max, and nothing that is out can change that.
  bool budget_is_spent() const { return budget_is_spent_; }
  Cost spent() const { return budget_.spent(); }

  // Because of calls_max, items wait at this moment.
  bool is_at_calls_max() const {
    return options_.calls_max > 0 && std::cmp_greater_equal(calls_.size(), options_.calls_max) &&
           waiting() > 0;
  }

  // It was sent and has not ended.
  bool is_out(ItemId item) const {
    const auto found = records_.find(item);
    return found != records_.end() && found->second.place == Place::kOut;
  }

  // It would wait for the answer of an equal one.
  bool would_follow(const WorkItem& item) const {
    return item.lane == 0 && item.same_answer && coalescer_.is_asked(*item.same_answer);
  }

  // Of a call that is out, in the order of its Send; others may have taken their places.
  const std::vector<ItemId>& items_of(CallId call) const { return calls_.at(call).items; }

  size_t unfinished() const { return records_.size(); }
  // For an upstream to have room.
  size_t waiting() const { return lanes_.size() + packer_.waiting(); }

  QueueReading queue(TimePoint now) const;

  std::vector<TenantReading> tenants() const;

  // Of items of this priority and higher ones that are neither out nor wait for another's answer:
  // how much they are, each counting as one, or as a third of its rows, up to 16.
  size_t backlog(Priority priority) const;

  // It is here and nobody has been asked for its answer, or not again since the last one failed.
  bool is_waiting(ItemId item) const;

  // Counts of unfinished items: those that wait for the answer of an equal one, those that are out,
  // and the calls that took them.
  size_t followers() const { return coalescer_.followers(); }
  size_t items_out() const { return items_out_; }
  size_t calls_out() const { return calls_.size(); }

  // The places they take.
  size_t places_out() const;

  const SchedulerCounts& counts() const { return counts_; }

  int32_t limit(UpstreamId upstream) const;
  int32_t in_flight(UpstreamId upstream) const { return at(upstream).in_flight; }  // places
  Health health(UpstreamId upstream) const { return router_.health(upstream); }
  ConcurrencyFinding finding(UpstreamId upstream) const { return at(upstream).limit.finding(); }

 private:
  enum class Place : uint8_t { kWaiting, kOut, kLater, kFollowing };

  struct Record {
    WorkItem item;
    TimePoint came{};
    Cost expected = 0;
    Attempts attempts;
    std::optional<Place> place;   // nothing: between two
    TimePoint later{};            // kLater
    CallId call;                  // kOut
    RequestQueue::Charge charge;  // kOut
    bool of_lanes = false;        // was handed out by lanes_, which wants to know its end
    bool unwanted = false;        // cancelled while it was out
    int32_t rows_max = INT32_MAX;
  };

  struct Upstream {
    ConcurrencyLimit limit;
    RefusalWatch refusals = {};
    std::optional<int32_t> told;
    size_t quota = 0;
    int32_t pack_rows_max = INT32_MAX;
    bool places_by_rows = false;
    int32_t in_flight = 0;                     // places that are taken
    std::array<int32_t, 3> in_flight_of = {};  // by Priority
  };

  struct Call {
    UpstreamId upstream;
    std::vector<ItemId> items;
    int64_t tokens = 0;
    Priority priority = Priority::kBatch;  // of its most urgent item
    size_t unwanted = 0;                   // of its items
    Cost expected = 0;
    Quota::Grant grant;
    RefusalWatch::Ticket ticket = 0;
    TimePoint sent{};
    int32_t places = 1;
    int32_t in_flight = 1;
  };

  const Upstream& at(UpstreamId id) const { return upstreams_[id.value()]; }

  void set_place(Record& record, std::optional<Place> place);
  void count_tenant(uint64_t tenant, std::optional<Place> place, int64_t by);
  void enqueue(TimePoint now, Record& record);
  void pump(TimePoint now, Actions& actions);
  bool send_pack(TimePoint now, Actions& actions);
  bool send_one(TimePoint now, bool anywhere, Actions& actions);
  void share_out(TimePoint now);
  void find_open(TimePoint now);
  int32_t places_of(const Upstream& upstream, int32_t limit, const WorkItem& item) const;
  std::optional<UpstreamId> choose(TimePoint now, const WorkItem& item, bool anywhere);
  int32_t affordable_rows(const Pack& pack);
  bool afford(const WorkItem& item);
  void send(TimePoint now, UpstreamId upstream, std::vector<ItemId> items, int64_t tokens,
            PackReason reason, Actions& actions);

  void report(TimePoint now, const Call& call, const CallEnd& end);
  void report_load(TimePoint now, const Call& call, const CallEnd& end);
  void settle(const Call& call, const CallEnd& end);
  bool is_too_many(const Call& call) const;
  bool may_go_elsewhere(TimePoint now, const WorkItem& item) const;
  void item_ended(TimePoint now, ItemId id, const Call& call, const CallEnd& end,
                  std::optional<TimePoint>& again_at, Actions& actions);
  void finish(TimePoint now, ItemId id, ItemEnd how, Actions& actions);
  Attempts end(ItemId id, ItemEnd how, Actions& actions);
  Attempts remove(ItemId id);
  void leave(ItemId id, ItemEnd how, Actions& actions);
  void take_out(Record& record);
  void inherit(Record& from, Record& heir);
  void replace_waiting(ItemId id, const WorkItem& item);
  void raise(ItemId leader, const WorkItem& follower);
  bool leads_others(const Record& record) const {
    return record.item.same_answer && coalescer_.has_followers(*record.item.same_answer);
  }
  void expire(TimePoint now, Actions& actions);

  const DispatchPolicyOptions options_;
  Random random_;
  std::vector<Upstream> upstreams_;
  std::vector<Quota> quotas_;
  Budget budget_;
  queueing::Reserve reserve_;
  Router router_;
  SharedLimit shared_;
  std::vector<int32_t> wanted_;  // what shared_ was told last
  SingleFlight coalescer_;
  RequestQueue lanes_;
  Packer packer_;

  boost::unordered_flat_map<ItemId, Record, std::hash<ItemId>> records_;
  boost::unordered_flat_map<CallId, Call, std::hash<CallId>> calls_;
  std::set<std::pair<TimePoint, ItemId>> later_;

  // By priority: who waits, by the time they came; and how much these are and what is in later_.
  std::array<std::set<std::pair<TimePoint, ItemId>>, 3> waiting_;
  std::array<size_t, 3> backlog_ = {};

  boost::unordered_flat_map<uint64_t, TenantReading> tenants_;

  // Of all that are not out.
  std::set<std::pair<TimePoint, ItemId>> deadlines_;
  size_t items_out_ = 0;
  SchedulerCounts counts_;
  bool no_more_tries_ = false;
  bool pack_first_ = false;  // packs and others take turns
  bool budget_is_spent_ = false;

  // Of the present pump:
  std::vector<UpstreamId> open_;
  std::vector<UpstreamId> open_for_item_;
  std::optional<TimePoint> quota_wakes_at_;
  TimePoint pumped_at_{};
};

}  // namespace windrow::dispatch
