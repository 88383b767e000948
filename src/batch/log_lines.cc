#include "batch/log_lines.h"

#include <cstring>

namespace windrow::batch {
namespace {

constexpr size_t kLogReadBytes = size_t{1} << 16;

}  // namespace

Result<std::optional<std::string_view>> LogLines::next() {
  for (;;) {
    const char* const found = searched_ == end_
                                  ? nullptr
                                  : static_cast<const char*>(std::memchr(buffer_.data() + searched_,
                                                                         '\n', end_ - searched_));
    if (found != nullptr) {
      const std::string_view line(buffer_.data() + begin_,
                                  static_cast<size_t>(found - buffer_.data()) - begin_);
      begin_ += line.size() + 1;
      searched_ = begin_;
      offset_ += line.size() + 1;
      return std::optional(line);
    }
    // What was given out makes room, so that bytes move once a block and not once a line.
    if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    searched_ = end_;
    if (buffer_.size() - end_ < kLogReadBytes) {
      buffer_.resize(buffer_.empty() ? 2 * kLogReadBytes : buffer_.size() * 2);
    }
    const auto got = file_.read_at(offset_ + end_, buffer_.data() + end_, buffer_.size() - end_);
    if (!got) return got.error();
    if (*got == 0) return std::optional<std::string_view>();
    end_ += *got;
  }
}

}  // namespace windrow::batch
