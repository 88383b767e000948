// ReadyItems: the items of one priority that could be sent now, and in which order they are
// offered. RequestQueue has one for each priority. Pure; used by one thread at a time.
//
// Invariants:
//   tenants take turns: the one that was served least goes first (queueing/fair_queue.h);
//   of one tenant, items with a deadline go before those without, the nearest first, and at most
//     `deadline_run_max` of them between two others; no deadline overtakes another tenant's items;
//   items that an upstream refused for load are kept apart, and found only when they are asked for.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "dispatch/work_item.h"
#include "queueing/fair_queue.h"

namespace windrow::dispatch {

struct ReadyItemsOptions {
  int32_t deadline_run_max = 8;

  // Items of one kind that are offered before the search is given up; of each of several tenants at
  // least two, of 64 tenants at most.
  size_t scan_max = 64;
  queueing::FairOptions fair;
};

class ReadyItems {
 public:
  // Whether an item can be sent now. Must not change this object.
  using Accept = std::function<bool(ItemId)>;

  enum class Kind : uint8_t { kFresh, kRefused };

  explicit ReadyItems(const ReadyItemsOptions& options) : options_(options), turns_(options.fair) {}

  // `arrival` orders items that are equal otherwise; remove() takes the same one.
  void add(const WorkItem& item, uint64_t arrival);
  void remove(const WorkItem& item, uint64_t arrival);

  // The first item of this kind that `accept` takes.
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

}  // namespace windrow::dispatch
