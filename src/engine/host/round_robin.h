// RoundRobin: which task runs the next pass, where several models or kinds of work share one
// thread. Pure: it is told what happened and asked for the next task.
//
// Tasks with something to run take turns, one pass each. A pass is bounded by the task's own
// budget, so a task waits no longer than for one pass of each other task. Since passes differ in
// length, each turn says how long a pass should take for the sake of the tasks that wait.
//
// A task that would rather wait for more work (batching_delay_policy.h) names a time. Its next turn
// comes then, or when it is woken, or as soon as another pass has run: waiting while another task
// runs costs nothing.
#pragma once

#include <cstdint>
#include <list>
#include <optional>

#include "base/clock.h"
#include "base/id.h"

namespace windrow::engine {

using TaskId = Id<struct TaskTag>;

// What a task is told when its turn comes.
struct Turn {
  bool alone = true;                 // no other task has something to run
  std::optional<Duration> pass_max;  // how long its pass should take; absent: no limit
};

// What a task wants after its turn.
struct Next {
  enum class Kind : uint8_t {
    kTurn,  // another turn: there is more to run
    kTime,  // a turn at `at`
    kWake,  // nothing until it is woken
  };

  Kind kind = Kind::kWake;
  TimePoint at{};

  friend bool operator==(const Next&, const Next&) = default;
};

// Used by one thread at a time.
class RoundRobin {
 public:
  // Adds a task, which has its first turn without being woken. `patience`: how long the passes of
  // other tasks should take while it has something to run; absent: no limit.
  TaskId join(std::optional<Duration> patience);

  // Removes a task. Not during its turn.
  void leave(TaskId task);

  // The task has something to run, or may have. Counts during its own turn, too.
  void wake(TaskId task);

  struct Choice {
    TaskId task;
    Turn turn;
  };

  // The task that runs now, until ended(); absent: no task has work.
  std::optional<Choice> next(TimePoint now);
  void ended(TaskId task, const Next& next);

  // When the next turn comes without a wake; absent: never.
  std::optional<TimePoint> next_at() const;

  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    TaskId id;
    std::optional<Duration> patience;
    bool ready = true;
    bool woken = false;  // during its turn
    std::optional<TimePoint> at;
  };

  Turn turn_for(TaskId task) const;
  std::list<Entry>::iterator find(TaskId task);

  std::list<Entry> entries_;  // the one whose last turn is longest ago in front
  std::optional<TaskId> running_;
  uint64_t next_id_ = 0;
};

}  // namespace windrow::engine
