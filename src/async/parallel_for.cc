#include "async/parallel_for.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::async {

ParallelFor::ParallelFor(int32_t workers) {
  ENSURE(workers >= 1, "{} workers", workers);
  for (int32_t worker = 1; worker < workers; ++worker)
    threads_.emplace_back([this, worker] { serve(static_cast<size_t>(worker)); });
}

ParallelFor::~ParallelFor() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
}

void ParallelFor::run(size_t parts, int32_t workers_max, const Work& work) {
  const size_t wanted =
      std::min({parts, threads_.size() + 1, static_cast<size_t>(std::max(workers_max, 1))});
  if (wanted <= 1) {
    for (size_t part = 0; part < parts; ++part)
      work(part, 0);
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    work_ = &work;
    parts_ = parts;
    workers_wanted_ = wanted;
    next_part_ = 0;
    busy_ = static_cast<int32_t>(wanted) - 1;
    ++round_;
  }
  changed_.notify_all();
  take_parts(0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return busy_ == 0; });
  work_ = nullptr;
}

void ParallelFor::take_parts(size_t worker) {
  for (size_t part = next_part_++; part < parts_; part = next_part_++)
    (*work_)(part, worker);
}

void ParallelFor::serve(size_t worker) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || round_ != seen; });
    if (closing_) return;
    seen = round_;
    if (worker >= workers_wanted_) continue;
    lock.unlock();
    take_parts(worker);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

}  // namespace windrow::async
