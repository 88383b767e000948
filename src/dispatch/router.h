// Router: which upstream an item is sent to, and which upstreams are ejected. Pure; used by one
// thread at a time.
//
//   The least outstanding work wins, relative to how many requests the upstream takes at a time:
//     faster and larger upstreams end more and so are given more.
//   Items of one group stay where the group is, because its prefix is cached there, until that
//     upstream has 1.25 times the mean load (consistent hashing with bounded loads, Mirrokni,
//     Thorup and Zadimoghaddam 2016, has the same bound); then the group gets a second home.
//   An upstream that fails several times in a row, or half of the time, is ejected for a while,
//     longer each time (outlier detection as in Envoy), and then gets one call as a probe; an
//     answer brings it back. The last upstream is not ejected so easily for failures that it
//     answered with: there is no other, and some rows make every server fail.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "dispatch/work_item.h"

namespace windrow::dispatch {

struct RouterOptions {
  double overload = 1.25;          // times the mean load, up to which a group stays
  size_t groups_max = 20'000;      // remembered, the ones used last
  int32_t failures_max = 5;        // in a row; 0: no upstream is ejected
  int32_t last_failures_max = 50;  // of the last upstream, where it answered with them
  Duration last_ejected_max = std::chrono::seconds(30);
  int32_t recent = 20;  // over so many ends half may fail
  Duration ejected_base = std::chrono::seconds(5);
  Duration ejected_max = std::chrono::minutes(5);
};

enum class Health : uint8_t {
  kGood,
  kEjected,  // gets nothing until its time is over
  kProbing,  // one call tests it
};

class Router {
 public:
  Router(size_t upstreams, RouterOptions options, uint64_t seed);

  // How many requests it takes at a time: its load is measured by that.
  void set_capacity(UpstreamId upstream, int32_t in_flight_max);

  // Whether it may be sent anything now.
  bool usable(UpstreamId upstream, TimePoint now) const;

  // The upstream among `open`, which are usable and have capacity. Nothing: the homes of its group
  // have no capacity and are not overloaded yet. `anywhere`: another home is better than to wait.
  std::optional<UpstreamId> choose(uint64_t group, std::span<const UpstreamId> open,
                                   bool anywhere) const;

  // A call is sent to an upstream that choose() or the caller chose; it becomes a home of the
  // group. `tokens` is what it will cost, about, and is outstanding until ended() takes it back.
  void sent(TimePoint now, UpstreamId upstream, uint64_t group, int64_t tokens);

  enum class End : uint8_t {
    kAnswered,
    kFailed,   // the upstream's fault
    kReplied,  // the upstream answered with a failure, and the row may be at fault
    kNeither,  // says nothing about it: a bad row, a refusal for load, a cancel
    kUnsent,   // nothing was sent
  };

  // A call has ended; `tokens` as in sent(). May eject the upstream, or bring it back.
  void ended(TimePoint now, UpstreamId upstream, int64_t tokens, End end);

  Health health(UpstreamId upstream) const { return upstreams_[upstream.value()].health; }
  int64_t outstanding(UpstreamId upstream) const {
    return upstreams_[upstream.value()].outstanding;
  }

  // When the next ejected upstream may be tried again.
  std::optional<TimePoint> wake_at(TimePoint now) const;

 private:
  struct Upstream {
    int64_t outstanding = 0;  // tokens
    int64_t calls = 0;
    int32_t capacity = 1;
    Health health = Health::kGood;
    int32_t failures = 0;  // in a row
    double failure_rate = 0;
    int32_t ends = 0;
    int32_t ejections = 0;
    TimePoint ejected_until{};

    double load() const { return static_cast<double>(outstanding) / capacity; }
  };

  struct Group {
    std::vector<UpstreamId> homes;
    std::list<uint64_t>::iterator used;
  };

  double mean_load() const;
  bool is_last(const Upstream& upstream) const;
  void eject(TimePoint now, Upstream& upstream, Duration max);

  const RouterOptions options_;
  Random random_;
  std::vector<Upstream> upstreams_;
  std::unordered_map<uint64_t, Group> groups_;
  std::list<uint64_t> used_;  // most recently used first
};

}  // namespace windrow::dispatch
