// RoundRobin: whose pass runs next, where several models or several kinds of work share one thread.
// Pure: it is told what happened and asked who is next.
//
// Those who have something to run take turns, one pass each: a pass is bounded by its own budget,
// so nobody waits longer than for one pass of each of the others. Passes are not equally long, so
// each turn says how long a pass should take for the sake of those who wait meanwhile.
//
// One that would rather wait for more to do (batching_delay_policy.h) names a time. Its next turn
// comes then, or when it is woken, or as soon as another pass has run: waiting beside one that runs
// is free.
#pragma once

#include <cstdint>
#include <list>
#include <optional>

#include "base/clock.h"
#include "base/id.h"

namespace windrow::engine {

// What one is told when its turn comes.
struct Turn {
  bool alone = true;                 // nobody else has something to run
  std::optional<Duration> pass_max;  // how long its pass should take; absent: as it likes
};

// What it wants after a turn.
struct Next {
  enum class Kind : uint8_t {
    kTurn,  // there is more to run
    kTime,  // a turn at `at`
    kWake,  // nothing until it is woken
  };

  Kind kind = Kind::kWake;
  TimePoint at{};

  friend bool operator==(const Next&, const Next&) = default;
};

using SeatId = Id<struct SeatTag>;

// Used by one thread at a time.
class RoundRobin {
 public:
  // It has its first turn without being woken. `patience`: how long the passes of others should
  // take while it has something to run; absent: as they like.
  SeatId join(std::optional<Duration> patience);

  // Nobody's turn any more.
  void leave(SeatId seat);

  // It has something to run, or may have. During its own turn too.
  void wake(SeatId seat);

  struct Choice {
    SeatId seat;
    Turn turn;
  };

  // Whose turn it is, which then runs until ended(); absent: nobody's.
  std::optional<Choice> next(TimePoint now);
  void ended(SeatId seat, const Next& next);

  // When somebody's turn comes by itself; absent: never.
  std::optional<TimePoint> next_at() const;

  bool empty() const { return seats_.empty(); }

 private:
  struct TaskId {
    SeatId id;
    std::optional<Duration> patience;
    bool ready = true;
    bool woken = false;  // during its turn
    std::optional<TimePoint> at;
  };

  Turn turn_for(SeatId seat) const;
  std::list<TaskId>::iterator find(SeatId seat);

  std::list<TaskId> seats_;  // the longest without a turn in front
  std::optional<SeatId> running_;
  uint64_t next_id_ = 0;
};

}  // namespace windrow::engine
