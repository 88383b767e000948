#include "engine/host/device_thread.h"

#include <pthread.h>

#include "base/ensure.h"

namespace windrow::engine {

DeviceThread::DeviceThread(const Clock& clock) : clock_(clock), thread_([this] { run(); }) {
  // For those who look at the process: `top -H`.
  pthread_setname_np(thread_.native_handle(), "engine");
}

DeviceThread::~DeviceThread() {
  {
    const std::scoped_lock lock(mutex_);
    ENSURE(occupants_.empty(), "{} occupants are still on the engine thread", occupants_.size());
    closing_ = true;
    news_ = true;
  }
  changed_.notify_one();
}

SeatId DeviceThread::join(DeviceTask& occupant, std::optional<Duration> patience) {
  const std::scoped_lock lock(mutex_);
  const SeatId seat = turns_.join(patience);
  occupants_.emplace(seat, &occupant);
  news_ = true;
  changed_.notify_one();
  return seat;
}

void DeviceThread::leave(SeatId seat) {
  ENSURE(std::this_thread::get_id() != thread_.get_id(),
         "an occupant of the engine thread leaves on that thread");
  std::unique_lock lock(mutex_);
  leaving_.insert(seat);
  news_ = true;
  changed_.notify_one();
  left_.wait(lock, [&] { return !occupants_.contains(seat); });
}

void DeviceThread::wake(SeatId seat) {
  {
    const std::scoped_lock lock(mutex_);
    turns_.wake(seat);
    news_ = true;
  }
  changed_.notify_one();
}

void DeviceThread::end_those_who_leave(std::unique_lock<std::mutex>& lock) {
  while (!leaving_.empty()) {
    const SeatId seat = *leaving_.begin();
    leaving_.erase(leaving_.begin());
    DeviceTask& occupant = *occupants_.at(seat);
    lock.unlock();
    occupant.end();
    lock.lock();
    turns_.leave(seat);
    occupants_.erase(seat);
    left_.notify_all();
  }
}

// Nobody has a turn.
void DeviceThread::wait(std::unique_lock<std::mutex>& lock) {
  const auto heard = [&] { return news_; };
  const std::optional<TimePoint> at = turns_.next_at();
  if (at) {
    changed_.wait_for(lock, *at - clock_.now(), heard);
  } else {
    changed_.wait(lock, heard);
  }
}

void DeviceThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    news_ = false;
    end_those_who_leave(lock);
    if (closing_) return;
    const std::optional<RoundRobin::Choice> choice = turns_.next(clock_.now());
    if (!choice) {
      if (!news_) wait(lock);
      continue;
    }
    DeviceTask& occupant = *occupants_.at(choice->seat);
    lock.unlock();
    const Next next = occupant.take_turn(choice->turn);
    lock.lock();
    turns_.ended(choice->seat, next);
  }
}

}  // namespace windrow::engine
