// BodyMemoryBudget: how many bytes of requests may be inside the server at a time: of their bodies,
// and of what these become when they are parsed. What is above it is refused before anything is
// done for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "llm/answer.h"

namespace windrow::api {

// Thread-safe.
class BodyMemoryBudget {
 public:
  explicit BodyMemoryBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // What a request takes beside its body: its call, and what a dispatcher keeps of it.
  static constexpr size_t kRequestBytes = size_t{8} << 10;

  // False, and nothing changes, when there is no room. One alone always has some: how large a body
  // may be is said elsewhere.
  [[nodiscard]] bool take(size_t body_bytes) {
    const std::scoped_lock lock(mutex_);
    const size_t bytes = body_bytes + kRequestBytes;
    if (requests_ > 0 && bytes_ + bytes > bytes_max_) return false;
    bytes_ += bytes;
    ++requests_;
    return true;
  }

  // One that is inside takes so much more; likewise.
  [[nodiscard]] bool grow(size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (requests_ > 1 && bytes_ + bytes > bytes_max_) return false;
    bytes_ += bytes;
    return true;
  }

  // What was taken and what it grew by, once.
  void release(size_t bytes) {
    const std::scoped_lock lock(mutex_);
    bytes_ -= bytes + kRequestBytes;
    --requests_;
  }

  size_t bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
  }
  size_t bytes_max() const { return bytes_max_; }

 private:
  const size_t bytes_max_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  int64_t requests_ = 0;
};

// What is answered where there is no room.
inline llm::Failure no_room_for_body() {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 429,
          .code = "server_overloaded",
          .message =
              "the bodies that are being worked on take all the memory there is for them; "
              "try again later",
          .overloaded = true,
          .retry_after_ms = 1000};
}

}  // namespace windrow::api
