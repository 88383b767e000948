#include "table/record_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace windrow::table {
namespace {

constexpr size_t kFrontBytesMax = size_t{64} << 10;

class CountedBytes final : public batch::ByteSource {
 public:
  CountedBytes(std::unique_ptr<batch::ByteSource> source, std::atomic<uint64_t>& count)
      : source_(std::move(source)), count_(count) {}

  Result<size_t> read(char* buffer, size_t size) override {
    Result<size_t> got = source_->read(buffer, size);
    if (got) count_ += *got;
    return got;
  }

  void interrupt() override { source_->interrupt(); }

 private:
  std::unique_ptr<batch::ByteSource> source_;
  std::atomic<uint64_t>& count_;
};

}  // namespace

RecordBytes::RecordBytes(std::unique_ptr<batch::ByteSource> packed)
    : bytes_(batch::decompressed(std::make_unique<CountedBytes>(std::move(packed), bytes_read_))) {}

Result<std::string_view> RecordBytes::front() {
  // A line end behind the first line that is not blank.
  const auto has_line = [&] {
    const size_t first = front_.find_first_not_of(" \t\r\n");
    return first != std::string::npos && front_.find('\n', first) != std::string::npos;
  };
  while (!ended_ && front_.size() < kFrontBytesMax && !has_line()) {
    const size_t had = front_.size();
    front_.resize(kFrontBytesMax);
    const Result<size_t> got = bytes_->read(front_.data() + had, kFrontBytesMax - had);
    front_.resize(had + (got ? *got : 0));
    if (!got) return got.error();
    ended_ = *got == 0;
  }
  return std::string_view(front_);
}

Result<size_t> RecordBytes::read(char* buffer, size_t size) {
  if (given_ == front_.size())
    return ended_ ? Result<size_t>(size_t{0}) : bytes_->read(buffer, size);
  const size_t count = std::min(size, front_.size() - given_);
  std::memcpy(buffer, front_.data() + given_, count);
  given_ += count;
  if (given_ == front_.size()) {
    front_ = {};
    given_ = 0;
  }
  return count;
}

void RecordBytes::interrupt() {
  bytes_->interrupt();
}

}  // namespace windrow::table
