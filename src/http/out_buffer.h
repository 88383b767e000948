// OutBuffer: bytes on their way to somebody who takes them when it likes. Memory follows what has
// not left yet: a reader that is always a little behind does not make what it has read stay.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace windrow::http {

// Not thread-safe.
class OutBuffer {
 public:
  void append(std::string_view bytes) { text_.append(bytes); }

  // What has not left yet. Good until the next call.
  std::string_view unsent() const { return std::string_view(text_).substr(sent_); }
  size_t size() const { return text_.size() - sent_; }
  bool empty() const { return size() == 0; }

  // What it keeps in memory for that.
  size_t held_bytes() const { return text_.size(); }

  // The first `bytes` of unsent() have left.
  void sent(size_t bytes) {
    sent_ += bytes;
    if (sent_ == text_.size()) {
      clear();
    } else if (sent_ >= kMoveMin && sent_ >= text_.size() / 2) {
      // At most as many bytes are moved as have left since the last time.
      text_.erase(0, sent_);
      sent_ = 0;
    }
  }

  void clear() {
    text_.clear();
    sent_ = 0;
    if (text_.capacity() > kKeptMax) text_.shrink_to_fit();
  }

 private:
  static constexpr size_t kMoveMin = size_t{64} * 1024;

  // A buffer beyond this is given back once it is empty.
  static constexpr size_t kKeptMax = size_t{256} * 1024;

  std::string text_;
  size_t sent_ = 0;
};

}  // namespace windrow::http
