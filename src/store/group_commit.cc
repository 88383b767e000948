#include "store/group_commit.h"

#include <algorithm>
#include <iterator>

namespace windrow::store {

GroupCommit::GroupCommit(Database& database, size_t group_max)
    : database_(database), group_max_(std::max<size_t>(group_max, 1)) {}

Result<void> GroupCommit::transaction(const std::function<Result<void>()>& body) {
  return transaction(body, database_.durability());
}

Result<void> GroupCommit::transaction(const std::function<Result<void>()>& body,
                                      Durability durability) {
  Waiting mine{.body = body, .durability = durability, .result = {}, .done = false, .changed = {}};
  std::unique_lock lock(mutex_);
  queue_.push_back(&mine);
  mine.changed.wait(lock, [&] { return mine.done || queue_.front() == &mine; });
  if (mine.done) return mine.result;

  const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), group_max_));
  const std::deque<Waiting*> group(queue_.begin(), queue_.begin() + count);
  lock.unlock();
  run_group(group);
  lock.lock();
  ++commits_;
  queue_.erase(queue_.begin(), queue_.begin() + count);
  for (Waiting* other : group) {
    if (other == &mine) continue;
    other->done = true;
    other->changed.notify_one();
  }
  if (!queue_.empty()) queue_.front()->changed.notify_one();
  return mine.result;
}

void GroupCommit::run_group(const std::deque<Waiting*>& group) {
  const bool survives_power_loss = std::ranges::any_of(
      group, [](const Waiting* one) { return one->durability == Durability::kPowerLoss; });
  const Result<void> committed = database_.transaction(
      [&]() -> Result<void> {
        for (Waiting* waiting : group)
          waiting->result = database_.part_of_transaction(waiting->body);
        return {};
      },
      survives_power_loss ? Durability::kPowerLoss : Durability::kProcessCrash);
  if (committed) return;
  for (Waiting* waiting : group) {
    if (waiting->result) waiting->result = committed;
  }
}

size_t GroupCommit::commits() const {
  const std::scoped_lock lock(mutex_);
  return commits_;
}

size_t GroupCommit::waiting() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size();
}

}  // namespace windrow::store
