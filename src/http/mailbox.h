// Mailbox: values from any thread, handed on in batches. However many threads put values in, the
// taker is woken once for all that came since it last looked: on a loop that is one system call for
// a burst of calls, not one for each.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace windrow::http {

// Every method may be called from any thread.
template <class T>
class Mailbox {
 public:
  // True when nobody was told yet that there is something: then the caller wakes the taker.
  [[nodiscard]] bool put(T value) {
    const std::scoped_lock lock(mutex_);
    values_.push_back(std::move(value));
    return values_.size() == 1;
  }

  // All there is, in the order it came. Swaps with `values`, which must be empty, so that the two
  // buffers take turns and nothing is allocated once they are large enough.
  void take(std::vector<T>& values) {
    const std::scoped_lock lock(mutex_);
    values.swap(values_);
  }

 private:
  std::mutex mutex_;
  std::vector<T> values_;
};

}  // namespace windrow::http
