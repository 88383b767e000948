// Packer: items of one kind (single texts to embed) that may share a call, and how many do. Pure;
// used by one thread at a time.
//
// By default no item waits for others: items gather while all upstreams are busy, and what is
// queued when one has capacity is sent together, as in the engine's own batches. `window` makes the
// first item wait so long for others.
//
// Tenants take turns by their weights, in tokens, within a kind and among kinds; items of one
// tenant go in order of arrival. What an item costs is known here before it is sent, so each gets
// its turn when it arrives (start-time fair queueing, Goyal, Vin and Cheng, SIGCOMM 1996).
//
// How many tokens a call takes is found by doubling while that brings a tenth more tokens a second.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "dispatch/work_item.h"

namespace windrow::dispatch {

struct PackerOptions {
  int32_t rows_max = 256;  // of a call; 1: nothing is packed
  int64_t tokens_min = 512;
  int64_t tokens_max = 65'536;
  Duration window{};
};

// What decided the size of a call.
enum class PackReason : uint8_t {
  kAlone,   // a row that cannot be packed
  kRows,    // rows_max
  kTokens,  // as many tokens as a call takes now
  kWindow,  // the first row waited long enough
  kRoom,    // an upstream had capacity, and no more were queued
};

std::string_view to_string(PackReason reason);

// How many tokens a call takes.
class PackSize {
 public:
  explicit PackSize(const PackerOptions& options);

  int64_t tokens() const { return tokens_; }

  // A call of so many tokens was answered.
  void answered(int64_t tokens, Duration took);

  // A call of so many tokens was too large for the server.
  void too_large(int64_t tokens);

 private:
  int64_t tokens_min_;
  int64_t tokens_max_;
  int64_t tokens_;
  double before_per_s_ = 0;  // at half of it
  double tokens_sum_ = 0;
  double seconds_sum_ = 0;
  int32_t calls_ = 0;
  bool settled_ = false;
};

struct Pack {
  std::vector<WorkItem> items;
  int64_t tokens = 0;
  PackReason reason = PackReason::kRoom;
  std::vector<TimePoint> since;  // as they were added
  std::vector<int32_t> rows_max;
  std::vector<int64_t> turns;

  friend bool operator==(const Pack&, const Pack&) = default;
};

// Shortens the call to `rows_max` rows; returns the others, for a later call. Nothing: it has no
// more.
std::optional<Pack> split_pack(Pack& pack, int32_t rows_max);

class Packer {
 public:
  explicit Packer(PackerOptions options = {}) : options_(options), size_(options) {}

  // Whether this item goes through a packer at all.
  bool packs(const WorkItem& item) const {
    return options_.rows_max > 1 && item.pack != 0 && item.lane == 0;
  }

  // Queues an item that packs(). `rows_max`: of the call that the item goes in; a call that failed
  // is retried in halves.
  void add(TimePoint now, const WorkItem& item, int32_t rows_max = INT32_MAX);

  // The call to send now that an upstream has capacity; nothing: none is queued, or it waits for
  // its window.
  std::optional<Pack> next(TimePoint now);

  // The rows of a call that could not be sent after all; they are the first again.
  void put_back(const Pack& pack);

  // When the next window is over. A window that is over at `now` waits for capacity, not for time.
  std::optional<TimePoint> wake_at(TimePoint now) const;

  // `item` takes over the turn of the item `id`. False: `id` is not queued here.
  [[nodiscard]] bool replace(ItemId id, const WorkItem& item);

  // Take an item out, or all. Nothing: it is not queued here.
  std::optional<WorkItem> take(ItemId id);
  std::vector<WorkItem> take_all();

  PackSize& size() { return size_; }  // to be told of answers, and of calls that were too large
  size_t waiting() const { return ranks_.size(); }

 private:
  struct Waiting {
    WorkItem item;
    TimePoint since;
    int32_t rows_max;
  };

  // By turn, then by arrival.
  using Rank = std::pair<int64_t, int64_t>;

  // The rows of one kind.
  struct Kind {
    std::map<Rank, Waiting> rows;
    std::set<std::pair<TimePoint, Rank>> ages;  // since when each row is queued
  };

  // How many rows from the first on make a call, and what limits it.
  struct Extent {
    int32_t rows = 0;
    PackReason reason = PackReason::kRoom;
  };

  Extent first_of(const Kind& kind) const;
  Pack take_first(uint64_t pack, Extent extent);
  int64_t turn_of(const WorkItem& item);
  void insert(Rank rank, const Waiting& waiting);
  Waiting remove(uint64_t pack, Rank rank);
  void hide(uint64_t pack, const Kind& kind);
  void show(uint64_t pack, const Kind& kind);

  const PackerOptions options_;
  PackSize size_;
  boost::unordered_flat_map<uint64_t, Kind> kinds_;
  std::set<std::pair<Rank, uint64_t>> fronts_;  // of each kind, the rank of its first row
  std::set<std::pair<TimePoint, uint64_t>>
      ages_;  // of each kind, since when its oldest row is queued
  boost::unordered_flat_map<ItemId, std::pair<uint64_t, Rank>, std::hash<ItemId>> ranks_;

  // The present turn, and the next turn of each tenant that had a row since the packer was empty.
  int64_t turn_ = 0;
  boost::unordered_flat_map<uint64_t, int64_t> next_turns_;

  // Arrivals: after all others, and before all others (put_back).
  int64_t last_number_ = 0;
  int64_t first_number_ = 0;
};

}  // namespace windrow::dispatch
