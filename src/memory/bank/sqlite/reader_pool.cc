#include "memory/bank/sqlite/reader_pool.h"

#include <utility>

namespace windrow::memory {

Result<ReaderPool::Held> ReaderPool::take() {
  std::unique_lock lock(mutex_);
  free_.wait(lock, [&] { return !readers_.empty() || open_ < readers_max_; });
  if (!readers_.empty()) {
    std::unique_ptr<store::DatabaseReader> reader = std::move(readers_.back());
    readers_.pop_back();
    return Held(*this, std::move(reader));
  }
  ++open_;
  lock.unlock();
  Result<std::unique_ptr<store::DatabaseReader>> opened = database_.reader();
  if (opened) return Held(*this, *std::move(opened));
  lock.lock();
  --open_;
  free_.notify_one();
  return opened.error();
}

void ReaderPool::give_back(std::unique_ptr<store::DatabaseReader> reader) {
  const std::scoped_lock lock(mutex_);
  readers_.push_back(std::move(reader));
  free_.notify_one();
}

}  // namespace windrow::memory
