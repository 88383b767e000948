// WorkerPool: a few threads that share out the parts of one piece of work and are done together.
// The thread that asks takes part, so a pool of one has no threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace windrow::engine {

class WorkerPool {
 public:
  // `count` workers, the caller of run included; at least 1.
  explicit WorkerPool(int32_t count);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Part `part` of the work, on worker `worker` < count. Must not throw: there is nobody to tell.
  using Work = std::function<void(size_t part, size_t worker)>;

  // Does the parts 0 .. parts - 1 on at most `workers` workers, in any order, and returns when all
  // are done. One thread at a time may ask.
  void run(size_t parts, int32_t workers, const Work& work);

 private:
  void serve(size_t worker);
  void take_parts(size_t worker);

  std::mutex mutex_;
  std::condition_variable changed_;
  const Work* work_ = nullptr;  // none: nothing to do
  size_t parts_ = 0;
  size_t workers_wanted_ = 0;
  uint64_t round_ = 0;
  int32_t busy_ = 0;  // threads that still look at work_
  bool closing_ = false;
  std::atomic<size_t> next_part_ = 0;

  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace windrow::engine
