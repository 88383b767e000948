#include "batch/line_source.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "batch/input.h"

namespace windrow::batch {
namespace {

using std::string_view_literals::operator""sv;

constexpr size_t kReadBytes = size_t{1} << 15;

// Counts what passes; the count is that of the file, below any decompression.
class CountedSource final : public ByteSource {
 public:
  CountedSource(std::unique_ptr<ByteSource> source, std::atomic<uint64_t>& count)
      : source_(std::move(source)), count_(count) {}

  Result<size_t> read(char* buffer, size_t size) override {
    auto got = source_->read(buffer, size);
    if (got) count_ += *got;
    return got;
  }

  void interrupt() override { source_->interrupt(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::atomic<uint64_t>& count_;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t"sv) == std::string_view::npos;
}

// Invariant: [begin_, end_) of buffer_ is read and not given out; [begin_, searched_) holds no
// '\n'.
class BufferedLines final : public LineSource {
 public:
  BufferedLines(std::unique_ptr<ByteSource> bytes, std::string name, LineLimits limits)
      : bytes_(decompressed(std::make_unique<CountedSource>(std::move(bytes), input_bytes_))),
        name_(std::move(name)),
        limits_(limits) {}

  Result<std::optional<Line>> next() override {
    while (!ended_) {
      if (!started_) start();
      if (const std::optional<Line> line = take_line()) return line;
      if (!ended_) read_more();
      if (text_bytes_ <= limits_.text_bytes_max || ended_) continue;
      ended_ = true;
      return Line{.number = number_ + 1, .beyond = true};
    }
    if (error_) return *error_;
    return std::optional<Line>();
  }

  uint64_t input_bytes_read() const override { return input_bytes_; }

  void interrupt() override {
    interrupted_ = true;
    bytes_->interrupt();
  }

 private:
  // The next line that is not blank, out of what is read; nothing when more must be read first, or
  // at the end.
  std::optional<Line> take_line() {
    for (;;) {
      // There may be millions of these, one behind the other.
      while (searched_ == begin_ && begin_ < end_ && dropped_ == 0 && buffer_[begin_] == '\n') {
        searched_ = ++begin_;
        ++number_;
      }
      const char* const found =
          static_cast<const char*>(std::memchr(buffer_.data() + searched_, '\n', end_ - searched_));
      if (found == nullptr && !source_ended_) {
        searched_ = end_;
        drop_what_is_too_long();
        return std::nullopt;
      }
      const size_t at = found != nullptr ? static_cast<size_t>(found - buffer_.data()) : end_;
      if (found == nullptr && at == begin_ && dropped_ == 0) {
        ended_ = true;
        return std::nullopt;
      }
      const Line line = line_of(std::string_view(buffer_.data() + begin_, at - begin_));
      begin_ = searched_ = std::min(at + 1, end_);
      dropped_ = 0;
      if (line.too_long || !is_blank(line.bytes)) return line;
    }
  }

  Line line_of(std::string_view text) {
    Line line{.number = ++number_, .bytes = text, .length = dropped_ + text.size()};
    if (text.ends_with('\r')) {
      line.bytes.remove_suffix(1);
      --line.length;
    }
    if (line.length > limits_.line_bytes_max) {
      line.too_long = true;
      if (dropped_ == 0) kept_ = text.substr(0, limits_.too_long_bytes_kept);
      line.bytes = kept_;
    }
    return line;
  }

  // Of a line that is above the limit whatever follows (a '\r' at its end does not count), only the
  // beginning is kept.
  void drop_what_is_too_long() {
    const size_t size = end_ - begin_;
    if (dropped_ == 0 && size <= limits_.line_bytes_max + 1) return;
    if (dropped_ == 0)
      kept_.assign(buffer_.data() + begin_, std::min(size, limits_.too_long_bytes_kept));
    // The last byte stays, as it may be a '\r'.
    dropped_ += size - 1;
    begin_ = end_ - 1;
    searched_ = end_;
  }

  void read_more() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      searched_ -= begin_;
      begin_ = 0;
    }
    if (buffer_.size() - end_ < kReadBytes) {
      buffer_.resize(std::max(buffer_.size() * 2, end_ + kReadBytes));
    }
    const auto got = bytes_->read(buffer_.data() + end_, buffer_.size() - end_);
    if (interrupted_) {
      ended_ = true;
    } else if (!got) {
      fail(got.error());
    } else {
      end_ += *got;
      text_bytes_ += *got;
      source_ended_ = *got == 0;
    }
  }

  // The byte order mark that some editors write.
  void start() {
    started_ = true;
    while (end_ < 3 && !source_ended_ && !ended_)
      read_more();
    const std::string_view front(buffer_.data(), end_);
    if (front.starts_with("\xEF\xBB\xBF"sv)) begin_ = searched_ = 3;
    if (front.starts_with("\xFF\xFE"sv) || front.starts_with("\xFE\xFF"sv)) {
      fail(Error{ErrorKind::kInvalid,
                 "the text is UTF-16; save it as UTF-8 (for instance with iconv -f UTF-16 -t "
                 "UTF-8) and try again"});
      begin_ = searched_ = end_;  // nothing of it is a line
    }
  }

  void fail(const Error& error) {
    ended_ = true;
    error_ = error.in(name_);
  }

  std::atomic<uint64_t> input_bytes_ = 0;
  std::atomic<bool> interrupted_ = false;
  std::unique_ptr<ByteSource> bytes_;
  const std::string name_;
  const LineLimits limits_;

  std::vector<char> buffer_ = std::vector<char>(kReadBytes);
  size_t begin_ = 0;
  size_t searched_ = 0;
  size_t end_ = 0;

  uint64_t text_bytes_ = 0;  // all that was read, unpacked

  uint64_t dropped_ = 0;  // bytes of the present line that are no longer in the buffer
  std::string kept_;      // its beginning, then

  uint64_t number_ = 0;
  bool started_ = false;
  bool source_ended_ = false;
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace

std::unique_ptr<LineSource> make_line_source(std::unique_ptr<ByteSource> bytes, std::string name,
                                             LineLimits limits) {
  return std::make_unique<BufferedLines>(std::move(bytes), std::move(name), limits);
}

Result<std::unique_ptr<LineSource>> Input::open_lines(const LineLimits& limits,
                                                      BeforeWait before_wait) {
  auto bytes = open(std::move(before_wait));
  if (!bytes) return bytes.error();
  return make_line_source(*std::move(bytes), name(), limits);
}

Result<std::unique_ptr<LineSource>> open_lines(Input& input, LineLimits limits,
                                               BeforeWait before_wait) {
  return input.open_lines(limits, std::move(before_wait));
}

}  // namespace windrow::batch
