// RequestQueue: what waits to be sent, and which goes next. Pure.
//
// Invariants:
//   of a lane one item is out at a time, and they go in the order they came: a later one is handed
//     out only after ended() of the one before, also when that is put back to be tried again;
//   a higher priority goes first, but between two starts of a lower one that has an item ready
//   there
//     are at most `overtaken_max` starts of higher ones. So an item with k of its priority before
//     it starts after at most (k + 1) * (overtaken_max + 1) starts, however many urgent ones come;
//     starts in slots that it may not have (queueing/reserve.h) do not delay it and are not counted
//     here;
//   those that somebody refused for load go behind all others, and between two starts of such,
//   while
//     one is ready, are at most `refused_overtaken_max` starts of others; the bounds above are on
//     those that nobody refused, and starts of refused ones come on top: a request that a server
//     would always refuse is not what it is tried with while there are others;
//   of one priority, and of those that were refused, the tenant's turn is it who was served least
//     (fair_queue.h), each priority counting for itself;
//   of one tenant those with a deadline go before those without, the nearest first, and at most
//     `dated_max` of them between two others. A deadline overtakes nobody else's.
// The bounds are on starts and not on each item's own overtakers: with ten thousand rows waiting
// the latter would let one urgent item in every so often wait for all of them.
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
#include <vector>

#include "dispatch/work_item.h"
#include "queueing/fair_queue.h"

namespace windrow::dispatch {

struct LaneOptions {
  // Of kNormal, of kBatch: starts of what is more urgent between two of theirs.
  std::array<int32_t, 2> overtaken_max = {8, 32};
  int32_t dated_max = 8;
  int32_t refused_overtaken_max = 8;
  size_t looked_at_max = 64;  // ready items of one kind that are offered before it is given up
  queueing::FairOptions fair;
};

class RequestQueue {
 public:
  // Whether an item can go now.
  using Accept = std::function<bool(const WorkItem&)>;

  explicit RequestQueue(LaneOptions options = {});

  void push(const WorkItem& item);

  // One that was handed out and is to go again, in its old place. Its lane stays closed meanwhile.
  void put_back(const WorkItem& item);

  // Hands out the first item that `accept` takes, in the order above.
  std::optional<WorkItem> next(const Accept& accept);

  // What was handed out, or waited elsewhere, is sent; to be settled with what it cost.
  struct Charge {
    Priority priority = Priority::kBatch;
    queueing::FairQueue::Charge of_tenant;
  };
  Charge charge(const WorkItem& item);

  // Whether the tenant of the first would go before that of the second, both as urgent as this.
  bool is_before(Priority priority, const WorkItem& one, const WorkItem& other) const {
    return queues_[static_cast<size_t>(priority)].order.is_before(one.tenant, other.tenant);
  }
  void settle(const Charge& charge, int64_t tokens);

  // An item that was handed out has ended: the next of its lane may go.
  void ended(const WorkItem& item);

  // `item` has the place of this one from now on, whether that waits or was handed out. Both are of
  // no lane. False: this one is neither.
  [[nodiscard]] bool replace(ItemId id, const WorkItem& item);

  // Items taken out, in no particular order: a lane goes on with the one after.
  std::optional<WorkItem> take(ItemId id);
  std::vector<WorkItem> take_all();

  size_t size() const { return waiting_.size(); }

 private:
  static constexpr size_t kPriorities = 3;

  // By deadline, then by the order they came.
  using Place = std::pair<TimePoint, uint64_t>;

  struct Waiting {
    WorkItem item;
    uint64_t number = 0;
    bool ready = false;  // not behind another of its lane
  };

  // What is ready, of one tenant.
  struct Owned {
    std::map<Place, ItemId> dated;
    std::map<Place, ItemId> undated;
    std::map<Place, ItemId> refused;
    int32_t dated_run = 0;  // since the last undated one

    bool empty() const { return dated.empty() && undated.empty() && refused.empty(); }
  };

  // Of one priority.
  struct Queue {
    explicit Queue(queueing::FairOptions options) : order(options) {}

    queueing::FairQueue order;  // those in `owned` are ready
    boost::unordered_flat_map<uint64_t, Owned> owned;
    size_t fresh = 0;  // of all tenants
    size_t refused = 0;
    int32_t overtaken = 0;  // since the last start of this priority, while one was ready
  };

  struct Lane {
    bool out = false;
    std::map<uint64_t, ItemId> waiting;  // all that wait, the first one ready unless one is out
  };

  static Place place_of(const Waiting& waiting);
  static std::map<Place, ItemId>& part_of(Owned& owned, const WorkItem& item);
  Queue& queue_of(const WorkItem& item) { return queues_[static_cast<size_t>(item.priority)]; }
  void make_ready(ItemId id);
  void unready(const Waiting& waiting);
  WorkItem remove(ItemId id);
  std::optional<ItemId> find(const std::map<Place, ItemId>& part, size_t looked_at_max,
                             const Accept& accept) const;
  std::optional<ItemId> find(const Owned& owned, size_t looked_at_max, const Accept& accept) const;
  std::optional<ItemId> find(const Queue& queue, bool refused, const Accept& accept) const;
  std::optional<ItemId> find_fresh(const Accept& accept) const;
  std::optional<ItemId> find_refused(const Accept& accept) const;
  bool has_refused() const;
  void started(const WorkItem& item);
  void open_next(uint64_t lane);

  const LaneOptions options_;
  boost::unordered_flat_map<ItemId, Waiting, std::hash<ItemId>> waiting_;
  boost::unordered_flat_map<ItemId, uint64_t, std::hash<ItemId>>
      numbers_out_;  // of those handed out, to be put back
  std::unordered_map<uint64_t, Lane> lanes_;
  std::array<Queue, kPriorities> queues_;
  int32_t refused_overtaken_ = 0;  // since the last start of a refused one, while one was ready
  uint64_t pushed_ = 0;
};

}  // namespace windrow::dispatch
