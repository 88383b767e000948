// RecordBytes: the bytes of an input, decompressed and counted, with a look at the first ones
// before they are read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "batch/input.h"

namespace windrow::table {

// Used by one thread, except interrupt() and bytes_read().
class RecordBytes final : public batch::ByteSource {
 public:
  explicit RecordBytes(std::unique_ptr<batch::ByteSource> packed);

  // The first bytes, with at least the first line that is not blank, if that ends within the first
  // 64 KiB. Before the first read(); blocks. kInvalid: the compressed data is damaged. kIo.
  Result<std::string_view> front();

  // ByteSource
  Result<size_t> read(char* buffer, size_t size) override;
  void interrupt() override;

  // Before decompression. Any thread.
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  std::atomic<uint64_t> bytes_read_ = 0;
  std::unique_ptr<batch::ByteSource> bytes_;
  std::string front_;  // read and not given out
  size_t given_ = 0;   // bytes of front_ that were given out
  bool ended_ = false;
};

// A byte order mark at the front of a text that is UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace windrow::table
