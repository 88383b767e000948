#include "engine/host/device_thread.h"

#include <pthread.h>

#include "base/ensure.h"

namespace windrow::engine {

DeviceThread::DeviceThread(const Clock& clock) : clock_(clock), thread_([this] { run(); }) {
  // Its name in `top -H`.
  pthread_setname_np(thread_.native_handle(), "engine");
}

DeviceThread::~DeviceThread() {
  {
    const std::scoped_lock lock(mutex_);
    ENSURE(tasks_.empty(), "{} tasks are still on the device thread", tasks_.size());
    closing_ = true;
    has_changed_ = true;
  }
  changed_.notify_one();
}

TaskId DeviceThread::join(DeviceTask& task, std::optional<Duration> patience) {
  const std::scoped_lock lock(mutex_);
  const TaskId id = turns_.join(patience);
  tasks_.emplace(id, &task);
  has_changed_ = true;
  changed_.notify_one();
  return id;
}

void DeviceThread::leave(TaskId task) {
  ENSURE(std::this_thread::get_id() != thread_.get_id(),
         "a task leaves on the device thread itself");
  std::unique_lock lock(mutex_);
  leaving_.insert(task);
  has_changed_ = true;
  changed_.notify_one();
  left_.wait(lock, [&] { return !tasks_.contains(task); });
}

void DeviceThread::wake(TaskId task) {
  {
    const std::scoped_lock lock(mutex_);
    turns_.wake(task);
    has_changed_ = true;
  }
  changed_.notify_one();
}

void DeviceThread::end_leaving(std::unique_lock<std::mutex>& lock) {
  while (!leaving_.empty()) {
    const TaskId id = *leaving_.begin();
    leaving_.erase(leaving_.begin());
    DeviceTask& task = *tasks_.at(id);
    lock.unlock();
    task.end();
    lock.lock();
    turns_.leave(id);
    tasks_.erase(id);
    left_.notify_all();
  }
}

// No task has a turn: waits for one.
void DeviceThread::wait(std::unique_lock<std::mutex>& lock) {
  const auto changed = [&] { return has_changed_; };
  const std::optional<TimePoint> at = turns_.next_at();
  if (at) {
    changed_.wait_for(lock, *at - clock_.now(), changed);
  } else {
    changed_.wait(lock, changed);
  }
}

void DeviceThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_changed_ = false;
    end_leaving(lock);
    if (closing_) return;
    const std::optional<RoundRobin::Choice> choice = turns_.next(clock_.now());
    if (!choice) {
      if (!has_changed_) wait(lock);
      continue;
    }
    DeviceTask& task = *tasks_.at(choice->task);
    lock.unlock();
    const Next next = task.run_pass(choice->turn);
    lock.lock();
    turns_.ended(choice->task, next);
  }
}

}  // namespace windrow::engine
