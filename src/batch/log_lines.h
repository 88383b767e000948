// LogLines: the bytes of a log as lines, read in blocks from the front: memory grows only with the
// longest line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/disk.h"

namespace windrow::batch {

// Used by one thread. `file` outlives it.
class LogLines {
 public:
  // From the line that begins at `begin`.
  explicit LogLines(store::ReadFile& file, uint64_t begin = 0) : file_(file), offset_(begin) {}

  // The next whole line without its line end, valid until the next call; nothing at the end of the
  // file. kIo.
  Result<std::optional<std::string_view>> next();

  // Where in the file the next line begins.
  uint64_t offset() const { return offset_; }

  // After the end: what stands behind the last line end.
  std::string_view torn() const { return {buffer_.data() + begin_, end_ - begin_}; }

 private:
  store::ReadFile& file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;     // in the buffer, of what was not given out: at offset_ in the file
  size_t end_ = 0;       // ... and its end
  size_t searched_ = 0;  // up to here there is no line end
  uint64_t offset_;
};

}  // namespace windrow::batch
