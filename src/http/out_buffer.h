// OutBuffer: bytes on their way to somebody who takes them when it likes. Memory follows what has
// not left yet: a reader that is always a little behind does not make what it has read stay.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::http {

// Not thread-safe.
class OutBuffer {
 public:
  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    if (!last_is_open_) {
      pieces_.emplace_back();
      last_is_open_ = true;
    }
    pieces_.back().append(bytes);
    held_ += bytes.size();
  }

  // The same; a large one is not copied.
  void take(std::string bytes) {
    if (bytes.size() < kTakenMin) return append(bytes);
    if (empty()) clear();  // an empty piece may be kept
    held_ += bytes.size();
    pieces_.push_back(std::move(bytes));
    last_is_open_ = false;
  }

  // The front of what has not left yet, at least one byte where there is any. Good until the next
  // call; later it begins alike and is as long at least.
  std::string_view unsent() const {
    if (pieces_.empty()) return {};
    return std::string_view(pieces_.front()).substr(sent_);
  }
  size_t size() const { return held_ - sent_; }
  bool empty() const { return size() == 0; }

  // What it keeps in memory for that.
  size_t held_bytes() const { return held_; }

  // The first `bytes` of unsent() have left.
  void sent(size_t bytes) {
    if (bytes == 0) return;
    sent_ += bytes;
    std::string& front = pieces_.front();
    if (sent_ == front.size()) {
      held_ -= sent_;
      sent_ = 0;
      if (last_is_open_ && pieces_.size() == 1 && front.capacity() <= kKeptMax) {
        front.clear();  // its memory is used again
        return;
      }
      pieces_.erase(pieces_.begin());
      if (pieces_.empty()) last_is_open_ = false;
    } else if (sent_ >= kMoveMin && sent_ >= front.size() / 2) {
      // At most as many bytes are moved as have left since the last time.
      front.erase(0, sent_);
      if (front.capacity() > kShrunkMin) front.shrink_to_fit();
      held_ -= sent_;
      sent_ = 0;
    }
  }

  void clear() {
    pieces_.clear();
    held_ = 0;
    sent_ = 0;
    last_is_open_ = false;
  }

 private:
  static constexpr size_t kMoveMin = size_t{64} * 1024;

  // A piece beyond this is given back once it is empty.
  static constexpr size_t kKeptMax = size_t{256} * 1024;

  // Of one beyond this what has left is given back before all of it has.
  static constexpr size_t kShrunkMin = size_t{4} * 1024 * 1024;

  // A text from this on is a piece of its own.
  static constexpr size_t kTakenMin = size_t{64} * 1024;

  std::vector<std::string> pieces_;  // none is empty, but one that is alone
  bool last_is_open_ = false;        // more may be put behind it
  size_t held_ = 0;                  // of all pieces
  size_t sent_ = 0;                  // of the front
};

}  // namespace windrow::http
