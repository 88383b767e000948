// LineSource: the lines of an input, one at a time, in bounded memory. Plain text, gzip and zstd
// are told apart by their first bytes; members and frames may follow one another, as `cat a.gz
// b.gz` makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "batch/input.h"

namespace windrow::batch {

// One line that is not blank, without its line end ("\n" or "\r\n").
struct Line {
  uint64_t number = 0;     // counted from 1, blank lines included
  std::string_view bytes;  // valid until the next call of next(); the beginning, when too_long
  uint64_t length = 0;     // bytes of the whole line
  bool too_long = false;   // above LineLimits::line_bytes_max

  // In here all lines together become longer than LineLimits::text_bytes_max. It has no bytes, and
  // no other line follows.
  bool beyond = false;
};

struct LineLimits {
  size_t line_bytes_max = size_t{64} << 20;
  size_t too_long_bytes_kept = 1024;  // how much of a longer line `bytes` shows

  // Of all lines, as they are once they were unpacked: a few bytes may be packed gigabytes.
  uint64_t text_bytes_max = std::numeric_limits<uint64_t>::max();
};

// Used by one thread, except interrupt() and input_bytes_read().
class LineSource {
 public:
  virtual ~LineSource() = default;

  // The next line that holds anything but spaces and tabs; nothing at the end. A UTF-8 byte order
  // mark at the very front is not part of the first line. The last line needs no line end.
  //   kInvalid  the compressed data is damaged or stops short, or the text is UTF-16; every whole
  //             line before that was given out, and a part of a line never is
  //   kIo
  // After a failure or the end it keeps saying the same.
  virtual Result<std::optional<Line>> next() = 0;

  // Bytes taken from the input so far, as it lies on disk. Any thread.
  virtual uint64_t input_bytes_read() const = 0;

  // Any thread: next() soon says that there is no further line.
  virtual void interrupt() = 0;
};

// `name` is what messages call the input.
std::unique_ptr<LineSource> make_line_source(std::unique_ptr<ByteSource> bytes, std::string name,
                                             LineLimits limits = {});

// Both in one: opens `input` from the start. `before_wait`: see Input::open.
Result<std::unique_ptr<LineSource>> open_lines(Input& input, LineLimits limits = {},
                                               BeforeWait before_wait = nullptr);

}  // namespace windrow::batch
