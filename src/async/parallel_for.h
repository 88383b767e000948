// ParallelFor: a few threads that divide the parts of one piece of work among them. The calling
// thread takes part, so with one worker there are no threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace windrow::async {

class ParallelFor {
 public:
  // `workers` counts the caller of run; at least 1.
  explicit ParallelFor(int32_t workers);

  // Ends the threads. Not while run() is in progress.
  ~ParallelFor();
  ParallelFor(const ParallelFor&) = delete;
  ParallelFor& operator=(const ParallelFor&) = delete;

  // Part `part` of the work, on worker `worker`, which does one part at a time: state that belongs
  // to a worker needs no lock. Must not throw: nothing could handle the exception.
  using Work = std::function<void(size_t part, size_t worker)>;

  // Does the parts 0 .. parts - 1 in any order on at most `workers_max` workers, numbered from 0.
  // Blocks until all are done. One thread at a time may call it.
  void run(size_t parts, int32_t workers_max, const Work& work);

 private:
  void serve(size_t worker);
  void take_parts(size_t worker);

  std::mutex mutex_;
  std::condition_variable changed_;
  const Work* work_ = nullptr;  // null between runs
  size_t parts_ = 0;
  size_t workers_wanted_ = 0;
  uint64_t round_ = 0;
  int32_t busy_ = 0;  // threads that still use work_
  bool closing_ = false;
  std::atomic<size_t> next_part_ = 0;

  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace windrow::async
