// ReadyItems: the items of one priority that could be sent now, and in which order they are
// offered. RequestQueue has one for each priority. Pure; used by one thread at a time.
//
// Invariants:
//   tenants take turns: the one that was served least goes first (queueing/fair_queue.h); and so do
//     the parts of one tenant (WorkItem::part), among themselves;
//   of one part, items with a deadline go before those without, the nearest first, and at most
//     `deadline_run_max` of them between two others; no deadline overtakes another part's items;
//   items that an upstream refused for load are kept apart, and found only when they are asked for.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "dispatch/work_item.h"
#include "queueing/fair_queue.h"

namespace windrow::dispatch {

struct ReadyItemsOptions {
  int32_t deadline_run_max = 8;

  // Items of one kind that are offered before the search is given up; of each of several tenants at
  // least two, of 64 tenants at most; of each part of a tenant at least one, of 64 parts at most.
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

  // Fair queueing: what a start of a tenant costs, to be settled once; and which of two items would
  // go first by its tenant and its part. Also for tenants that have nothing here.
  struct Charge {
    queueing::FairQueue::Charge of_tenant;
    std::optional<queueing::FairQueue::Charge> of_part;  // absent: the tenant has one part only
  };
  Charge charge(const WorkItem& item);
  void settle(const Charge& charge, int64_t tokens);
  bool is_before(const WorkItem& one, const WorkItem& other) const;

  // Tenants whose parts are remembered; for tests.
  size_t parted_tenants() const { return parts_turns_.size(); }

 private:
  using Rank = std::pair<TimePoint, uint64_t>;  // by deadline, then by arrival
  using Ranked = std::map<Rank, ItemId>;

  struct Part {
    Ranked with_deadline;
    Ranked without_deadline;
    Ranked refused;
    int32_t deadline_run = 0;  // starts since the last one without a deadline

    bool empty() const {
      return with_deadline.empty() && without_deadline.empty() && refused.empty();
    }
  };

  using Parts = boost::unordered_flat_map<uint64_t, Part>;  // that have an item here

  static Ranked& ranked_in(Part& part, const WorkItem& item);
  queueing::FairQueue* turns_of_parts(const WorkItem& item);
  void forget_parts(uint64_t tenant);
  std::optional<ItemId> find_in(const Part& part, Kind kind, size_t scan_max,
                                const Accept& accept) const;
  std::optional<ItemId> find_of(uint64_t tenant, Kind kind, size_t scan_max,
                                const Accept& accept) const;
  size_t& count_of(const WorkItem& item) { return item.refused_by != 0 ? refused_ : fresh_; }
  std::optional<ItemId> find_fresh(const Part& part, size_t scan_max, const Accept& accept) const;

  const ReadyItemsOptions options_;
  queueing::FairQueue turns_;                           // tenants_ are ready in it
  boost::unordered_flat_map<uint64_t, Parts> tenants_;  // that have an item here

  // Of tenants that have an item of a part other than 0, here or in flight: their parts that have
  // an item here are ready in it. Most tenants have none.
  std::unordered_map<uint64_t, queueing::FairQueue> parts_turns_;
  size_t fresh_ = 0;
  size_t refused_ = 0;
};

}  // namespace windrow::dispatch
