// Admission: how many bytes of requests may be inside the server at a time. Pure; what is above it
// is refused before anything is done for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace windrow::api {

class Admission {
 public:
  explicit Admission(size_t bytes_max) : bytes_max_(bytes_max) {}

  // What a request takes beside its body: its call, and what a dispatcher keeps of it.
  static constexpr size_t kRequestBytes = size_t{8} << 10;

  // False, and nothing changes, when there is no room. One alone always has some: how large a body
  // may be is said elsewhere.
  [[nodiscard]] bool take(size_t body_bytes) {
    const size_t bytes = body_bytes + kRequestBytes;
    if (requests_ > 0 && bytes_ + bytes > bytes_max_) return false;
    bytes_ += bytes;
    ++requests_;
    return true;
  }

  // What was taken, once.
  void release(size_t body_bytes) {
    bytes_ -= body_bytes + kRequestBytes;
    --requests_;
  }

  size_t bytes() const { return bytes_; }
  size_t bytes_max() const { return bytes_max_; }
  int64_t requests() const { return requests_; }

 private:
  const size_t bytes_max_;
  size_t bytes_ = 0;
  int64_t requests_ = 0;
};

}  // namespace windrow::api
