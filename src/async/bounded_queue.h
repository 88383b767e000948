// BoundedQueue: passes values from producer threads to consumer threads, and blocks the producers
// while it is full (backpressure). The bound is in bytes, tokens or any unit of the caller: each
// value is pushed with its cost.
//
// An empty queue accepts any value, so that one above the bound passes alone instead of blocking
// for ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace windrow::async {

// Every method may be called from any thread.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t cost_max) : cost_max_(cost_max) {}

  // Blocks while the queue is full. False, and the value is dropped, once the queue is closed; that
  // also ends a call that blocks.
  [[nodiscard]] bool push(T value, size_t cost) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return closed_ || items_.empty() || cost_ + cost <= cost_max_; });
    if (closed_) return false;
    items_.push_back(Item{std::move(value), cost});
    cost_ += cost;
    if (!gathering_) {
      has_items_.notify_one();
    } else if (is_half_full()) {
      has_gathered_.notify_all();
    }
    return true;
  }

  // Blocks until there is a value. Nothing once the queue is closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    has_items_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    T value = std::move(items_.front().value);
    cost_ -= items_.front().cost;
    items_.pop_front();
    has_room_.notify_all();
    return value;
  }

  // Blocks until there is a value, then takes all of them, for a group commit. Empty once
  // the queue is closed and empty.
  std::vector<T> pop_all() {
    std::unique_lock lock(mutex_);
    has_items_.wait(lock, [&] { return closed_ || !items_.empty(); });
    std::vector<T> values;
    values.reserve(items_.size());
    for (Item& item : items_)
      values.push_back(std::move(item.value));
    items_.clear();
    cost_ = 0;
    has_room_.notify_all();
    return values;
  }

  // The same, but collects more values before it takes them: until `gather` has passed since the
  // first one, or the queue is half full or closed. Producers wake no thread in that time. For a
  // queue with one consumer.
  std::vector<T> pop_all_gathered(std::chrono::nanoseconds gather) {
    {
      std::unique_lock lock(mutex_);
      has_items_.wait(lock, [&] { return closed_ || !items_.empty(); });
      gathering_ = true;
      has_gathered_.wait_for(lock, gather, [&] { return closed_ || is_half_full(); });
      gathering_ = false;
    }
    return pop_all();
  }

  // No more values come in; those queued can still be taken.
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    has_room_.notify_all();
    has_items_.notify_all();
    has_gathered_.notify_all();
  }

  size_t cost() const {
    const std::scoped_lock lock(mutex_);
    return cost_;
  }

 private:
  struct Item {
    T value;
    size_t cost;
  };

  bool is_half_full() const { return cost_ >= cost_max_ / 2; }

  const size_t cost_max_;
  mutable std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_items_;
  std::condition_variable has_gathered_;
  std::deque<Item> items_;
  size_t cost_ = 0;
  bool gathering_ = false;  // one taker sleeps until there is more
  bool closed_ = false;
};

}  // namespace windrow::async
