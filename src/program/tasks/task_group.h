// TaskGroup: the branches of one all, race or map: which start when, which are cancelled, when the
// task that waits goes on, and with what. Pure.
//
//   all, map   the waiting task gets every result, in the order of the branches; the first error
//              cancels the others
//   race       the first that ends decides, with its result or its error; the others are cancelled
//
// A branch that is cancelled ends too, but says nothing: the waiting task goes on only when every
// branch that was started has ended, so nothing of a group outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/id.h"

namespace windrow::program {

// A coroutine of an instance: its own function is 1, every branch has a number of its own.
using TaskId = Id<struct TaskTag, uint32_t>;

enum class GroupKind : uint8_t { kAll, kRace, kMap };

class TaskGroup {
 public:
  // `count` branches, at most `limit` (at least 1) of them at a time. race starts all at once.
  TaskGroup(GroupKind kind, size_t count, size_t limit);

  // The branches to be started now, in order; called first, and after each end.
  std::vector<size_t> to_start();

  // Branch `index`, which was started, has ended; `cancelled`: because of cancel().
  enum class BranchEnd : uint8_t { kReturned, kFailed, kCancelled };
  void ended(size_t index, BranchEnd end);

  // The branches that run and have to be cancelled now, each once.
  std::vector<size_t> to_cancel();

  // The waiting task is cancelled itself: so are all branches.
  void cancel();

  // Nothing of it runs and nothing will.
  bool is_over() const;

  // Once it is over: the branch whose error or result decides; nothing for all and map without an
  // error, and where it was cancelled.
  std::optional<size_t> decided_by() const { return decided_by_; }
  bool has_failed() const { return failed_; }

  GroupKind kind() const { return kind_; }
  size_t count() const { return branches_.size(); }

 private:
  enum class Branch : uint8_t { kWaits, kRuns, kStopping, kEnded };

  const GroupKind kind_;
  const size_t limit_;
  std::vector<Branch> branches_;
  size_t next_ = 0;
  size_t running_ = 0;
  bool stopping_ = false;
  bool failed_ = false;
  std::optional<size_t> decided_by_;
};

}  // namespace windrow::program
