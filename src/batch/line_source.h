// LineSource: the lines of an input, one at a time, in bounded memory. Plain text, gzip and zstd
// are recognised by their first bytes; several members or frames may follow each other, as in `cat
// a.gz b.gz`.
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

// Why an input that makes its lines (Input::open_lines) could not make one: its row fails with
// this.
struct LineProblem {
  std::string code;  // "invalid_record"
  std::string message;
  std::string param = {};

  friend bool operator==(const LineProblem&, const LineProblem&) = default;
};

// One line that is not blank, without its line end ("\n" or "\r\n").
struct Line {
  uint64_t number = 0;     // counted from 1, blank lines included
  std::string_view bytes;  // valid until the next call of next(); only the beginning if too_long
  uint64_t length = 0;     // of the whole line, in bytes
  bool too_long = false;   // above LineLimits::line_bytes_max

  // With this line the text exceeds LineLimits::text_bytes_max. It has no bytes, and is the last
  // line.
  bool beyond = false;

  // Not null: there is no line, and `bytes` only identify what it would have been made of. Valid as
  // long as those.
  const LineProblem* problem = nullptr;
};

struct LineLimits {
  size_t line_bytes_max = size_t{64} << 20;
  size_t too_long_bytes_kept = 1024;  // of a longer line, in `bytes`

  // Of all lines together, decompressed: a small file may decompress to gigabytes.
  uint64_t text_bytes_max = std::numeric_limits<uint64_t>::max();
};

// Used by one thread, except interrupt() and input_bytes_read().
class LineSource {
 public:
  virtual ~LineSource() = default;

  // The next line that holds anything but spaces and tabs; nothing at the end. A UTF-8 byte order
  // mark at the very front is not part of the first line. The last line needs no line end.
  //   kInvalid  the compressed data is damaged or cut off, or the text is UTF-16; all whole lines
  //             before that have been returned, and part of a line never is
  //   kIo
  // After a failure or the end, every further call returns the same.
  virtual Result<std::optional<Line>> next() = 0;

  // The bytes read from the input so far, before decompression. Any thread.
  virtual uint64_t input_bytes_read() const = 0;

  // Any thread: next() soon returns the end.
  virtual void interrupt() = 0;
};

// `name` is the name of the input in messages.
std::unique_ptr<LineSource> make_line_source(std::unique_ptr<ByteSource> bytes, std::string name,
                                             LineLimits limits = {});

// Input::open_lines.
Result<std::unique_ptr<LineSource>> open_lines(Input& input, LineLimits limits = {},
                                               BeforeWait before_wait = nullptr);

}  // namespace windrow::batch
