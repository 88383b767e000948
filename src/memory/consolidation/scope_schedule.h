// ScopeSchedule: which batch of facts is consolidated next. Pure; one thread at a time.
//
// A fact has one pass for each scope that it feeds. The passes of one scope run strictly one batch
// after the other, in the order in which the facts came, so that each batch sees what the ones
// before it wrote; batches of different scopes run side by side, up to a bound. A pass needs
// nothing of the other passes of its fact, so what a scope computes does not depend on the others,
// and no scope waits for another one. A scope that waits holds no slot, and there is no barrier.
//
// A batch is homogeneous: facts with the same tags and the same scopes.
//
// Batches of one scope: the oldest fact decides which tags and scopes the next batch has; it takes
// facts like it from further back, and the others keep their turn.
//
// Choice: a scope so long that it alone would decide when the run ends (its batches left times the
// slots are at least all batches left) goes first, the longest one before others; otherwise the
// scope that had the fewest batches, of these the one with the oldest fact. Scopes of the first
// kind leave slots free as long as there is other work, so neither can starve the other: with other
// work left, fewer scopes than slots can be so long.
//
// Each call takes logarithmic time in the number of scopes, for each pass that it is about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "memory/bank/bank_store.h"

namespace windrow::memory {

struct ScopeBatch {
  int64_t number = 0;  // counted from 1, in the order in which batches are handed out
  Scope scope;
  std::vector<MemoryId> facts;  // one or more
  int32_t attempts = 0;         // how often it was put back with again()
};

class ScopeSchedule {
 public:
  // Both 1 or more.
  ScopeSchedule(int32_t batch_facts_max, int32_t in_flight_max);

  // The facts of a run, in the order in which they came. One without scopes left is nothing to do.
  void add(const PendingFact& fact);

  // The next batch, which is in flight then. Nothing: all slots are taken, or each scope with facts
  // left has a batch in flight or is not due yet.
  std::optional<ScopeBatch> next(TimePoint now);

  // When a scope that was put back is due; nothing: none waits for a time.
  std::optional<TimePoint> next_due() const;

  // The end of a batch in flight, in one of these ways:
  void done(const ScopeBatch& batch);
  // Its halves come next in its scope, in order; a batch of one fact cannot be split.
  void split(const ScopeBatch& batch);
  // It comes next in its scope, not before `due`.
  void again(ScopeBatch batch, TimePoint due);

  // Takes the batch that was handed out last back, as if it had not been: it has no slot and no
  // number. Its scope is not chosen until it is released.
  void hold_back(const ScopeBatch& batch);
  void release(const Scope& scope);

  int32_t in_flight() const { return in_flight_; }
  int64_t passes_left() const { return passes_left_; }  // those of batches in flight included
  bool is_done() const { return passes_left_ == 0; }    // nothing is left, nothing is in flight

 private:
  using FactIndex = uint32_t;  // the order in which facts were added
  using ScopeIndex = uint32_t;
  using GroupIndex = uint32_t;  // facts with the same tags and scopes
  using QueueIndex = uint32_t;

  // The passes of one group in one scope that no batch has yet.
  struct PassQueue {
    std::vector<FactIndex> facts;
    size_t taken = 0;  // from the front

    int64_t size() const { return static_cast<int64_t>(facts.size() - taken); }
  };

  // A batch that is not formed from the queues: it is in flight, or was put back.
  struct FormedBatch {
    std::vector<FactIndex> facts;
    int32_t attempts = 0;
  };

  enum class ScopeState : uint8_t { kIdle, kReady, kInFlight, kNotDue, kHeldBack };

  struct ScopeRecord {
    const Scope* scope = nullptr;
    ScopeState state = ScopeState::kIdle;
    int64_t handed_out = 0;                                // batches
    int64_t batches_left = 0;                              // one in flight included
    std::vector<std::pair<FactIndex, QueueIndex>> fronts;  // a heap: the oldest pass of each queue
    std::vector<FormedBatch> put_back;                     // the next one last
    FormedBatch flying;
    int64_t flying_number = 0;
    TimePoint due = {};
  };

  // The place of a ready scope in an order; the first number decides.
  struct Rank {
    int64_t first = 0;
    FactIndex oldest = 0;
    ScopeIndex scope = 0;
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };

  ScopeIndex scope_of(const Scope& scope);
  GroupIndex group_of(const PendingFact& fact);
  void enqueue(ScopeIndex scope, GroupIndex group, FactIndex fact);
  int64_t batches_in(const PassQueue& queue) const;
  FactIndex oldest_of(const ScopeRecord& scope) const;
  Rank fair_rank(ScopeIndex index) const;
  Rank long_rank(ScopeIndex index) const;
  void set_state(ScopeIndex index, ScopeState state);
  void add_batches(ScopeIndex index, int64_t change);
  ScopeIndex choose() const;
  FormedBatch form(ScopeRecord& scope);
  // Takes the batch out of flight; the caller decides what becomes of its facts.
  ScopeIndex land(const ScopeBatch& batch);

  const int64_t batch_facts_max_;
  const int32_t in_flight_max_;

  std::vector<MemoryId> facts_;
  std::map<Scope, ScopeIndex> scope_indices_;
  std::map<std::pair<Tags, std::vector<Scope>>, GroupIndex> group_indices_;
  std::unordered_map<uint64_t, QueueIndex> queue_indices_;  // by scope and group
  std::vector<PassQueue> queues_;
  std::vector<ScopeRecord> scopes_;

  // Scopes that are ready: by how few batches they had, and by how many they have left.
  std::set<Rank> fair_;
  std::set<Rank> longest_;
  std::set<std::pair<TimePoint, ScopeIndex>> not_due_;

  int64_t batches_left_ = 0;
  int64_t passes_left_ = 0;
  int64_t numbered_ = 0;
  int32_t in_flight_ = 0;
};

}  // namespace windrow::memory
