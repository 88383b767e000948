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
//     (ready_items.h).
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

#include "dispatch/ready_items.h"
#include "dispatch/work_item.h"
#include "queueing/bypass.h"

namespace windrow::dispatch {

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
    ReadyItems::Charge of_item;
  };
  Charge charge(const WorkItem& item);
  void settle(const Charge& charge, int64_t tokens);

  // Whether `one` would go before `other` by its tenant and part, both at this priority.
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
