// BoundedQueue: hands values from threads that make them to threads that use them, and makes the
// makers wait when too much lies in between. The bound is in bytes, tokens or whatever the caller
// counts: each value is pushed with its cost.
//
// The bound errs towards progress: an empty queue takes any value, so one above the bound passes
// alone instead of blocking for ever.
#pragma once

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

  // Blocks while the queue is full. False, and the value is dropped, once the queue is closed:
  // also for those who were waiting.
  [[nodiscard]] bool push(T value, size_t cost) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return closed_ || items_.empty() || cost_ + cost <= cost_max_; });
    if (closed_) return false;
    items_.push_back(Item{std::move(value), cost});
    cost_ += cost;
    has_items_.notify_one();
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

  // Blocks until there is a value, then takes all there are: what a group commit wants. Empty once
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

  // No more values come in; those inside can still be taken.
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    has_room_.notify_all();
    has_items_.notify_all();
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

  const size_t cost_max_;
  mutable std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_items_;
  std::deque<Item> items_;
  size_t cost_ = 0;
  bool closed_ = false;
};

}  // namespace windrow::async
