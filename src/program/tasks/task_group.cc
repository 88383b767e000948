#include "program/tasks/task_group.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::program {

TaskGroup::TaskGroup(GroupKind kind, size_t count, size_t limit)
    : kind_(kind),
      limit_(kind == GroupKind::kRace ? std::max<size_t>(count, 1) : std::max<size_t>(limit, 1)),
      branches_(count, Branch::kWaits) {}

std::vector<size_t> TaskGroup::to_start() {
  std::vector<size_t> started;
  while (!stopping_ && next_ < branches_.size() && running_ < limit_) {
    branches_[next_] = Branch::kRuns;
    ++running_;
    started.push_back(next_++);
  }
  return started;
}

void TaskGroup::ended(size_t index, BranchEnd end) {
  Branch& branch = branches_.at(index);
  ENSURE(branch == Branch::kRuns || branch == Branch::kStopping, "branch {} is not running", index);
  branch = Branch::kEnded;
  --running_;
  // The first one decides; what ends while the group stops says nothing.
  if (stopping_ || end == BranchEnd::kCancelled) return;
  if (end == BranchEnd::kFailed || kind_ == GroupKind::kRace) {
    failed_ = end == BranchEnd::kFailed;
    decided_by_ = index;
    stopping_ = true;
  }
}

std::vector<size_t> TaskGroup::to_cancel() {
  std::vector<size_t> cancelled;
  if (!stopping_) return cancelled;
  for (size_t i = 0; i < branches_.size(); ++i) {
    if (branches_[i] != Branch::kRuns) continue;
    branches_[i] = Branch::kStopping;
    cancelled.push_back(i);
  }
  return cancelled;
}

void TaskGroup::cancel() {
  stopping_ = true;
}

bool TaskGroup::is_over() const {
  return running_ == 0 && (stopping_ || next_ == branches_.size());
}

}  // namespace windrow::program
