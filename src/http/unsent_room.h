// UnsentRoom: how many bytes of answers may lie in a server because clients do not take them, of
// all its connections together, and which connection is dropped when there is no room. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"

namespace windrow::http {

// A client that has taken nothing for so long may be dropped for the sake of others.
constexpr Duration kSlowReaderTime = std::chrono::seconds(1);

// An answer that brings its connection to no more than this is taken without asking for room: an
// error can be told always, and streams that wait for their readers go on.
constexpr size_t kUnsentUnasked = size_t{256} * 1024;

// Not thread-safe.
class UnsentRoom {
 public:
  explicit UnsentRoom(size_t bytes_max) : bytes_max_(bytes_max) {}

  // So many more lie in the server; negative: fewer.
  void count(int64_t bytes) { bytes_ += static_cast<size_t>(bytes); }

  bool has_room(size_t bytes) const {
    return bytes <= bytes_max_ - (is_full() ? bytes_max_ : bytes_);
  }
  bool is_full() const { return bytes_ >= bytes_max_; }
  size_t bytes() const { return bytes_; }

 private:
  const size_t bytes_max_;
  size_t bytes_ = 0;
};

// What one connection holds.
struct UnsentOf {
  size_t bytes = 0;
  Duration quiet{};  // since its client took something
};

// The one that holds most of those whose clients take nothing; nothing: there is none.
inline std::optional<size_t> slowest_reader(std::span<const UnsentOf> connections) {
  std::optional<size_t> found;
  for (size_t i = 0; i < connections.size(); ++i) {
    const UnsentOf& one = connections[i];
    if (one.bytes == 0 || one.quiet < kSlowReaderTime) continue;
    if (!found || one.bytes > connections[*found].bytes) found = i;
  }
  return found;
}

}  // namespace windrow::http
