// DeviceThread: the one thread that touches models. libllama's threads wait for each other by
// spinning, so two passes at a time on the same cores are many times slower than one after the
// other. Whatever runs passes (generation, embeddings, reranking; of one model or of several) is a
// task of it, and the tasks take turns (round_robin.h). A machine with several devices may have one
// for each; models on the same cores or the same device share one.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/clock.h"
#include "engine/host/round_robin.h"

namespace windrow::engine {

// Its methods are called on the device thread only.
class DeviceTask {
 public:
  virtual ~DeviceTask() = default;

  // Runs one pass at most. Sees everything that was submitted before its last wake(). Must not
  // throw.
  virtual Next run_pass(const Turn& turn) = 0;

  // Ends what is unfinished. No pass follows.
  virtual void end() = 0;
};

// Thread-safe. Every task must have left before it is destroyed.
class DeviceThread {
 public:
  // `clock` must outlive it.
  explicit DeviceThread(const Clock& clock);
  ~DeviceThread();
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  // Adds a task, which must outlive leave() and has its first turn soon. `patience` as in
  // RoundRobin::join. Never blocks on a pass.
  TaskId join(DeviceTask& task, std::optional<Duration> patience);

  // Removes the task; returns when its end() has. Blocks for the pass that runs. Not to be called
  // on the device thread, which would wait for itself.
  void leave(TaskId task);

  // The task has something to run. Never blocks on a pass.
  void wake(TaskId task);

 private:
  void run();
  void end_leaving(std::unique_lock<std::mutex>& lock);
  void wait(std::unique_lock<std::mutex>& lock);

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;  // awaited by the thread
  std::condition_variable left_;     // awaited by leave()
  RoundRobin turns_;
  std::map<TaskId, DeviceTask*> tasks_;
  std::set<TaskId> leaving_;
  bool has_changed_ = false;  // since the thread last looked
  bool closing_ = false;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace windrow::engine
