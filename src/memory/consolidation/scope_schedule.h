// ScopeSchedule: which batch of facts is consolidated next. Pure; one thread at a time.
//
// A fact has one pass for each scope that it feeds. The passes of one scope run strictly one batch
// after the other, in the order in which the facts came, so that each batch sees what the ones
// before it wrote; batches of different scopes run side by side, up to a bound. A pass needs nothing
// of the other passes of its fact, so what a scope computes does not depend on the others, and no
// scope waits for another one. A scope that waits holds no slot, and there is no barrier.
//
// A batch is homogeneous: facts with the same tags and the same scopes.
//
// Choice: a scope so long that it alone would decide when the run ends (its batches left times the
// slots are at least all batches left) goes first, the longest one before others; otherwise the
// scope that had the fewest batches, of these the one with the oldest fact. Scopes of the first kind
// leave slots free as long as there is other work, so neither can starve the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

  // The facts of a run, in the order in which they came.
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

  int32_t in_flight() const;
  int64_t passes_left() const;  // those of batches in flight included
  bool is_done() const;         // nothing is left, nothing is in flight
};

}  // namespace windrow::memory
