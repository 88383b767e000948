#include "engine/host/round_robin.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::engine {

std::list<RoundRobin::Entry>::iterator RoundRobin::find(TaskId task) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& one) { return one.id == task; });
  ENSURE(found != entries_.end(), "task {} has not joined", task.value());
  return found;
}

TaskId RoundRobin::join(std::optional<Duration> patience) {
  const TaskId id(next_id_++);
  entries_.push_back({.id = id, .patience = patience, .at = {}});
  return id;
}

void RoundRobin::leave(TaskId task) {
  ENSURE(running_ != task, "task {} leaves during its turn", task.value());
  entries_.erase(find(task));
}

void RoundRobin::wake(TaskId task) {
  (running_ == task ? find(task)->woken : find(task)->ready) = true;
}

Turn RoundRobin::turn_for(TaskId task) const {
  Turn turn;
  for (const Entry& other : entries_) {
    if (other.id == task || !other.ready) continue;
    turn.alone = false;
    if (!other.patience) continue;
    turn.pass_max = turn.pass_max ? std::min(*turn.pass_max, *other.patience) : other.patience;
  }
  return turn;
}

std::optional<RoundRobin::Choice> RoundRobin::next(TimePoint now) {
  ENSURE(!running_, "a turn has not ended");
  for (Entry& entry : entries_) {
    if (entry.at && *entry.at <= now) entry.ready = true;
  }
  const auto chosen = std::find_if(entries_.begin(), entries_.end(),
                                   [](const Entry& entry) { return entry.ready; });
  if (chosen == entries_.end()) return std::nullopt;
  running_ = chosen->id;
  const Choice choice{.task = chosen->id, .turn = turn_for(chosen->id)};
  chosen->ready = false;
  chosen->woken = false;
  chosen->at.reset();
  entries_.splice(entries_.end(), entries_, chosen);
  return choice;
}

void RoundRobin::ended(TaskId task, const Next& next) {
  ENSURE(running_ == task, "task {} has no turn that could end", task.value());
  running_.reset();
  const auto ran = find(task);
  ran->ready = ran->woken || next.kind == Next::Kind::kTurn;
  if (next.kind == Next::Kind::kTime) ran->at = next.at;
  if (next.kind != Next::Kind::kTurn) return;
  for (Entry& other : entries_) {
    if (other.id != task && other.at) other.ready = true;
  }
}

std::optional<TimePoint> RoundRobin::next_at() const {
  std::optional<TimePoint> first;
  for (const Entry& entry : entries_) {
    if (entry.at && (!first || *entry.at < *first)) first = entry.at;
  }
  return first;
}

}  // namespace windrow::engine
