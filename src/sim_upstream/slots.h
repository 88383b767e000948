// Slots: how long requests take that are computed together. Pure; one thread at a time.
//
// A step of a batch makes one token for each row. Its time is that of reading the weights, so up to
// `knee` rows a step takes as long as for one; beyond that it takes rows / knee as long. All rows
// advance at the same rate, so one virtual clock that runs at that rate gives every row's end (the
// virtual time of generalised processor sharing, Parekh and Gallager 1993): a row that starts at
// virtual time v with work w ends at v + w, whichever rows start and end in between, and an event
// costs O(log rows).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"

namespace windrow::sim_upstream {

class Slots {
 public:
  using Key = uint64_t;

  // knee 0: as many as slots.
  Slots(int32_t slots, int32_t knee);

  bool full() const { return busy() >= slots_; }
  int32_t busy() const { return static_cast<int32_t>(ends_.size()); }

  // `work`: how long the row takes alone. A slot must be free. `now` must not be before that of an
  // earlier call, nor after next_end().
  void start(Key key, Duration work, TimePoint now);

  // Frees the slot of `key` before its end. No effect when it has none.
  void cancel(Key key, TimePoint now);

  // When the next row ends if none starts or is cancelled before.
  std::optional<TimePoint> next_end() const;

  // Frees the slot of the row that ends at next_end().
  Key take_end();

 private:
  using Work = double;  // nanoseconds of the virtual clock

  // Real nanoseconds per virtual one.
  double slowdown() const;
  void move_to(TimePoint now);

  const int32_t slots_;
  const int32_t knee_;
  TimePoint now_;
  Work virtual_now_ = 0;
  std::set<std::pair<Work, Key>> ends_;
  std::map<Key, Work> end_of_;
};

}  // namespace windrow::sim_upstream
