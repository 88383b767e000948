#include "engine/host/round_robin.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::engine {

std::list<RoundRobin::TaskId>::iterator RoundRobin::find(SeatId seat) {
  const auto found =
      std::find_if(seats_.begin(), seats_.end(), [&](const TaskId& one) { return one.id == seat; });
  ENSURE(found != seats_.end(), "seat {} is not taken", seat.value());
  return found;
}

SeatId RoundRobin::join(std::optional<Duration> patience) {
  const SeatId id(next_id_++);
  seats_.push_back({.id = id, .patience = patience, .at = {}});
  return id;
}

void RoundRobin::leave(SeatId seat) {
  ENSURE(running_ != seat, "seat {} leaves during its turn", seat.value());
  seats_.erase(find(seat));
}

void RoundRobin::wake(SeatId seat) {
  (running_ == seat ? find(seat)->woken : find(seat)->ready) = true;
}

Turn RoundRobin::turn_for(SeatId seat) const {
  Turn turn;
  for (const TaskId& other : seats_) {
    if (other.id == seat || !other.ready) continue;
    turn.alone = false;
    if (!other.patience) continue;
    turn.pass_max = turn.pass_max ? std::min(*turn.pass_max, *other.patience) : other.patience;
  }
  return turn;
}

std::optional<RoundRobin::Choice> RoundRobin::next(TimePoint now) {
  ENSURE(!running_, "a turn has not ended");
  for (TaskId& seat : seats_) {
    if (seat.at && *seat.at <= now) seat.ready = true;
  }
  const auto chosen =
      std::find_if(seats_.begin(), seats_.end(), [](const TaskId& seat) { return seat.ready; });
  if (chosen == seats_.end()) return std::nullopt;
  running_ = chosen->id;
  const Choice choice{.seat = chosen->id, .turn = turn_for(chosen->id)};
  chosen->ready = false;
  chosen->woken = false;
  chosen->at.reset();
  seats_.splice(seats_.end(), seats_, chosen);
  return choice;
}

void RoundRobin::ended(SeatId seat, const Next& next) {
  ENSURE(running_ == seat, "a turn ended that nobody had");
  running_.reset();
  const auto ran = find(seat);
  ran->ready = ran->woken || next.kind == Next::Kind::kTurn;
  if (next.kind == Next::Kind::kTime) ran->at = next.at;
  if (next.kind != Next::Kind::kTurn) return;
  for (TaskId& other : seats_) {
    if (other.id != seat && other.at) other.ready = true;
  }
}

std::optional<TimePoint> RoundRobin::next_at() const {
  std::optional<TimePoint> first;
  for (const TaskId& seat : seats_) {
    if (seat.at && (!first || *seat.at < *first)) first = seat.at;
  }
  return first;
}

}  // namespace windrow::engine
