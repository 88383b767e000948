// RequestQueue: the items that are queued for an upstream, and which one is sent next. Pure; used
// by one thread at a time.
//
// Invariants:
//   of a lane one item is in flight at a time, in order of arrival: the next one is handed out only
//     after ended() of the one before, also when that one is put back to be retried;
//   a higher priority goes first, but between two starts of a lower one that has an item ready
//     there are at most `bypass` starts of higher ones (queueing/bypass.h). So an item with k of
//     its priority before it starts after at most (k + 1) * (bypass + 1) starts, however many
//     urgent ones arrive. Starts in slots that it may not use (queueing/reserve.h) do not delay it
//     and do not count here;
//   items that an upstream refused for load go behind all others, and while one is ready there are
//     at most `refused_bypass_max` starts of others between two of them. The bounds above hold for
//     items that were not refused; starts of refused ones come on top. So a server is not tried
//     with a request that it always refuses while there are others;
//   within a priority, and among refused items, tenants take turns and deadlines go first
//     (ReadyItems).
//
// A call costs logarithmic time in what is queued, and next() offers a bounded number of items.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "dispatch/work_item.h"
#include "queueing/bypass.h"
#include "queueing/fair_queue.h"

namespace windrow::dispatch {

struct ReadyItemsOptions {
  int32_t deadline_run_max = 8;

  // Items of one kind that are offered before the search is given up; of each of several tenants at
  // least two, of 64 tenants at most.
  size_t scan_max = 64;
  queueing::FairOptions fair;
};

// ReadyItems: the items of one priority that could be sent now, and in which order they are
// offered. RequestQueue has one for each priority.
//
// Invariants:
//   tenants take turns: the one that was served least goes first (queueing/fair_queue.h);
//   of one tenant, items with a deadline go before those without, the nearest first, and at most
//     `deadline_run_max` of them between two others; no deadline overtakes another tenant's items;
//   items that an upstream refused for load are kept apart, and found only when they are asked for.
class ReadyItems {
 public:
  // Whether an item can be sent now. Must not change this object.
  using Accept = std::function<bool(ItemId)>;

  enum class Kind : uint8_t { kFresh, kRefused };

  explicit ReadyItems(const ReadyItemsOptions& options) : options_(options), turns_(options.fair) {}

  // `arrival` orders items that are equal otherwise; remove() takes the same one.
  void add(const WorkItem& item, uint64_t arrival);
  void remove(const WorkItem& item, uint64_t arrival);

  // The first item of this kind that `accept` takes; it stays here. Nothing: none was taken, of
  // those that scan_max allows to offer.
  std::optional<ItemId> find(Kind kind, const Accept& accept) const;

  // The item, which is still here, is sent: what counts runs of deadlines.
  void started(const WorkItem& item);

  size_t count(Kind kind) const { return kind == Kind::kFresh ? fresh_ : refused_; }

  // Fair queueing: what a start of a tenant costs, and which tenant would go first. Also for
  // tenants that have nothing here.
  queueing::FairQueue::Charge charge(const WorkItem& item) {
    return turns_.charge(item.tenant, item.weight, item.tokens);
  }
  void settle(const queueing::FairQueue::Charge& charge, int64_t tokens) {
    turns_.settle(charge, tokens);
  }
  bool is_before(const WorkItem& one, const WorkItem& other) const {
    return turns_.is_before(one.tenant, other.tenant);
  }

 private:
  using Rank = std::pair<TimePoint, uint64_t>;  // by deadline, then by arrival
  using Ranked = std::map<Rank, ItemId>;

  struct Tenant {
    Ranked with_deadline;
    Ranked without_deadline;
    Ranked refused;
    int32_t deadline_run = 0;  // starts since the last one without a deadline

    bool empty() const {
      return with_deadline.empty() && without_deadline.empty() && refused.empty();
    }
  };

  static Ranked& part_of(Tenant& tenant, const WorkItem& item);
  size_t& count_of(const WorkItem& item) { return item.refused_by != 0 ? refused_ : fresh_; }
  std::optional<ItemId> find_fresh(const Tenant& tenant, size_t scan_max,
                                   const Accept& accept) const;

  const ReadyItemsOptions options_;
  queueing::FairQueue turns_;                            // tenants_ are ready in it
  boost::unordered_flat_map<uint64_t, Tenant> tenants_;  // that have an item here
  size_t fresh_ = 0;
  size_t refused_ = 0;
};

struct RequestQueueOptions {
  queueing::BypassLimits bypass;
  int32_t refused_bypass_max = 8;
  ReadyItemsOptions ready;
};

class RequestQueue {
 public:
  // Whether an item can be sent now.
  using Accept = std::function<bool(const WorkItem&)>;

  explicit RequestQueue(RequestQueueOptions options = {});

  // Queues an item that is not here yet, last of its lane, or of its tenant and priority.
  void push(const WorkItem& item);

  // An item that was handed out and is to be sent again: it keeps its arrival. Its lane stays
  // closed meanwhile.
  void put_back(const WorkItem& item);

  // Hands out the first item that `accept` takes, in the order above, to be reported by ended() or
  // put_back(). Nothing: none was taken.
  std::optional<WorkItem> next(const Accept& accept);

  // An item is sent that was handed out here or queued elsewhere: charges its tenant. To be settled
  // with what it cost.
  struct Charge {
    Priority priority = Priority::kBatch;
    queueing::FairQueue::Charge of_tenant;
  };
  Charge charge(const WorkItem& item);
  void settle(const Charge& charge, int64_t tokens);

  // Whether the tenant of `one` would go before that of `other`, both at this priority.
  bool is_before(Priority priority, const WorkItem& one, const WorkItem& other) const {
    return ready_[static_cast<size_t>(priority)].is_before(one, other);
  }

  // An item that was handed out has ended: the next one of its lane may go.
  void ended(const WorkItem& item);

  // `item` takes over from the item `id`, queued or handed out, with its arrival. Neither may be in
  // a lane. False: `id` is neither queued nor handed out.
  [[nodiscard]] bool replace(ItemId id, const WorkItem& item);

  // Takes an item out; its lane goes on with the next one. Nothing: it is not queued.
  std::optional<WorkItem> take(ItemId id);

  // Queued items.
  size_t size() const { return queued_.size(); }

 private:
  static constexpr size_t kPriorities = 3;

  struct Queued {
    WorkItem item;
    uint64_t arrival = 0;
    bool ready = false;  // not behind another item of its lane
  };

  struct Lane {
    bool in_flight = false;
    std::map<uint64_t, ItemId> queued;  // by arrival; the first is ready unless one is in flight
  };

  ReadyItems& ready_of(const WorkItem& item) { return ready_[static_cast<size_t>(item.priority)]; }
  void make_ready(ItemId id);
  WorkItem remove(ItemId id);
  std::optional<ItemId> find_fresh(const ReadyItems::Accept& accept) const;
  std::optional<ItemId> find_refused(const ReadyItems::Accept& accept) const;
  bool has_refused() const;
  void started(const WorkItem& item);
  void open_next(uint64_t lane);

  const RequestQueueOptions options_;
  boost::unordered_flat_map<ItemId, Queued, std::hash<ItemId>> queued_;

  // Arrivals of items that were handed out, in case they are put back.
  boost::unordered_flat_map<ItemId, uint64_t, std::hash<ItemId>> handed_out_;
  std::unordered_map<uint64_t, Lane> lanes_;
  std::array<ReadyItems, kPriorities> ready_;
  queueing::BypassCounter bypassed_;
  int32_t refused_bypassed_ = 0;
  uint64_t arrivals_ = 0;
};

}  // namespace windrow::dispatch
