// ItemTable: every item that was submitted and has not ended: what it is, which state it is in,
// what its calls have come to. It keeps what follows from that up to date: how many of each
// priority and tenant are queued and in flight, which deadline and which retry is next. Pure; used
// by one thread at a time.
//
// Invariant: every count and every index matches the states of the records; what a record is
// counted by (its priority, tenant, deadline) changes only through update() and take_over().
//
// A call costs logarithmic time in the number of items.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dispatch/budget.h"
#include "dispatch/request_queue.h"
#include "dispatch/retry_policy.h"
#include "dispatch/work_item.h"

namespace windrow::dispatch {

enum class QueueState : uint8_t {
  kNone,       // between two states
  kQueued,     // for an upstream to have capacity
  kInFlight,   // in a call
  kBackoff,    // until its retry is due
  kFollowing,  // waits for the outcome of an equal item
};

// Items that are queued for an upstream to have capacity, by Priority. Items in back-off and
// followers are not counted.
struct QueueReading {
  std::array<int32_t, 3> waiting = {};
  std::array<Duration, 3> oldest_age = {};  // since they were submitted; 0 where none is queued
};

// The items of one tenant that has any here.
struct TenantReading {
  uint64_t tenant = 0;
  int64_t waiting = 0;  // queued, in back-off or following
  int64_t out = 0;      // in flight
};

// Items in back-off: how many, and the one that was tried most often.
struct RetryReading {
  int32_t waiting = 0;
  int32_t try_next = 0;  // the attempt that comes next; 1: it was only refused, for load
  int32_t tries_max = 0;

  friend bool operator==(const RetryReading&, const RetryReading&) = default;
};

class ItemTable {
 public:
  class Record {
   public:
    WorkItem item;  // see ItemTable::update
    TimePoint submitted{};
    Cost expected = 0;
    Attempts attempts;
    TimePoint retry_at{};          // kBackoff
    CallId call;                   // kInFlight
    RequestQueue::Charge charge;   // kInFlight
    bool handed_out = false;       // by the RequestQueue, which must learn of its end
    bool cancelled = false;        // while it was in flight
    int32_t rows_max = INT32_MAX;  // of the next call it goes in

    QueueState state() const { return state_; }

   private:
    friend class ItemTable;
    QueueState state_ = QueueState::kNone;
  };

  // Adds an item in state kNone; its id must be new. References to records are valid until the next
  // add() or remove().
  Record& add(TimePoint now, const WorkItem& item, Cost expected);

  void remove(ItemId id);

  // The record of an item that is here.
  Record& at(ItemId id) { return records_.at(id); }
  const Record& at(ItemId id) const { return records_.at(id); }

  // nullptr: it has ended or was never submitted.
  const Record* find(ItemId id) const;

  // Moves a record from one state to another; set_backoff to kBackoff, until `retry_at`.
  void set_state(Record& record, QueueState state);
  void set_backoff(Record& record, TimePoint retry_at);

  // Changes what a record is counted by.
  void update(Record& record, Priority priority, uint64_t tenant, int32_t weight);

  // `heir`, a follower, takes over from `from`: its state, its call and what its attempts have come
  // to, but not its name, priority, tenant or deadline. `from` is left in kNone.
  void take_over(Record& from, Record& heir);

  size_t size() const { return records_.size(); }
  size_t in_flight() const { return in_flight_; }

  QueueReading queue(TimePoint now) const;
  std::vector<TenantReading> tenants() const;  // in no particular order; linear in their number

  // Of this priority and higher ones: how much is queued or in back-off, in slots
  // (WorkItem::slots), each item counting for 16 at most.
  size_t backlog(Priority priority) const;

  // Queued items by priority and age, then those in back-off by the time of their retry.
  std::vector<ItemId> queued_and_backoff() const;

  // Linear in the number of items in back-off.
  RetryReading retries(int32_t tries_max) const;

  // The first item in back-off whose retry is due.
  std::optional<ItemId> due_retry(TimePoint now) const;
  std::optional<TimePoint> next_retry() const;

  // The first item that is not in flight and whose deadline has passed.
  std::optional<ItemId> overdue(TimePoint now) const;
  std::optional<TimePoint> next_deadline() const;

  // The deadline of the first overdue item counts no more: its call is in flight.
  void drop_first_deadline();

 private:
  using ByTime = std::set<std::pair<TimePoint, ItemId>>;

  void count_tenant(uint64_t tenant, QueueState state, int64_t by);

  boost::unordered_flat_map<ItemId, Record, std::hash<ItemId>> records_;
  boost::unordered_flat_map<uint64_t, TenantReading> tenants_;
  std::array<ByTime, 3> queued_;        // by priority, then by time of submission
  std::array<size_t, 3> backlog_ = {};  // by priority, in slots
  ByTime backoffs_;
  ByTime deadlines_;  // of items that are not in flight
  size_t in_flight_ = 0;
};

}  // namespace windrow::dispatch
