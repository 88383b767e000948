// GroupCommit: transactions of many threads in few commits. A commit costs a sync of the log,
// whatever is in it; so transactions that wait at the same time are committed together, each still
// all or nothing. After LevelDB's queue of writers (DBImpl::Write): the first one that waits runs
// the bodies of those behind it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

#include "base/result.h"
#include "store/database.h"

namespace windrow::store {

// Thread-safe.
class GroupCommit {
 public:
  // At most `group_max` transactions are one commit. `database` must outlive this.
  explicit GroupCommit(Database& database, size_t group_max = 256);

  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // As Database::transaction, and returns when the changes of `body` are committed. `body` may run
  // on the thread of another caller, so it must not rely on locks that its own caller holds nor on
  // its thread; it must not call this. If the common commit fails, all transactions in it fail and
  // none has an effect.
  Result<void> transaction(const std::function<Result<void>()>& body);

  // The same with another durability than the database's. Of a common commit the highest one holds.
  Result<void> transaction(const std::function<Result<void>()>& body, Durability durability);

  // How many commits were made; fewer than transactions where some waited together.
  size_t commits() const;

  // How many transactions run or wait.
  size_t waiting() const;

 private:
  struct Waiting {
    const std::function<Result<void>()>& body;
    Durability durability;
    Result<void> result;
    bool done = false;
    std::condition_variable changed;
  };

  void run_group(const std::deque<Waiting*>& group);

  Database& database_;
  const size_t group_max_;
  mutable std::mutex mutex_;
  std::deque<Waiting*> queue_;  // the first one runs a group
  size_t commits_ = 0;
};

}  // namespace windrow::store
