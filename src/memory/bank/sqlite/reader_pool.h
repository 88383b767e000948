// ReaderPool: connections that read a bank beside its writer. They are opened when they are needed;
// a thread waits only if all of them are in use.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace windrow::memory {

// Thread-safe.
class ReaderPool {
 public:
  // `database` outlives it.
  ReaderPool(const store::Database& database, size_t readers_max)
      : database_(database), readers_max_(readers_max) {}

  // A reader that is the caller's as long as this is held.
  class Held {
   public:
    Held(ReaderPool& pool, std::unique_ptr<store::DatabaseReader> reader)
        : pool_(&pool), reader_(std::move(reader)) {}
    Held(Held&&) noexcept = default;
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (reader_ != nullptr) pool_->give_back(std::move(reader_));
    }

    store::DatabaseReader& operator*() const { return *reader_; }

   private:
    ReaderPool* pool_;
    std::unique_ptr<store::DatabaseReader> reader_;
  };

  // Waits while all are in use. A thread that holds one must not take another. kIo.
  Result<Held> take();

 private:
  void give_back(std::unique_ptr<store::DatabaseReader> reader);

  const store::Database& database_;
  const size_t readers_max_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<std::unique_ptr<store::DatabaseReader>> readers_;  // not in use
  size_t open_ = 0;
};

}  // namespace windrow::memory
