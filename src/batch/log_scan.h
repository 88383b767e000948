// Reading a log back: which rows have a line, and where the last whole line ends. This is all of
// recovery: progress is recorded nowhere else.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "store/disk.h"

namespace windrow::batch {

// LogLines: a log line by line, read in blocks from the front; memory grows only with the longest
// line. Used by one thread. `file` outlives it.
class LogLines {
 public:
  // Starts at the line that begins at `begin`.
  explicit LogLines(store::ReadFile& file, uint64_t begin = 0) : file_(file), offset_(begin) {}

  // The next whole line without its line end, valid until the next call; nothing at the end of the
  // file. kIo.
  Result<std::optional<std::string_view>> next();

  // Where in the file the next line begins.
  uint64_t offset() const { return offset_; }

  // After the end: the bytes behind the last line end.
  std::string_view torn() const { return {buffer_.data() + begin_, end_ - begin_}; }

 private:
  store::ReadFile& file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;     // of the unread bytes in the buffer
  size_t end_ = 0;       // of the bytes in the buffer
  size_t searched_ = 0;  // there is no line end before this
  uint64_t offset_;      // of begin_ in the file
};

enum class LogKind : uint8_t { kResults, kErrors };

// What a line of a log says about its row.
struct LogLine {
  uint64_t number = 0;  // in the log, from 1
  uint64_t offset = 0;  // of its first byte
  uint64_t size = 0;    // in bytes, with its line end
  Hash128 identity;     // RowKey::identity
  uint64_t fingerprint = 0;
  uint64_t input_line = 0;

  // Views into the text that was read; empty or 0 when there is none.
  std::string_view custom_id;
  std::string_view code;  // of a failure
  int32_t status = 0;     // of the response
  bool of_line = false;   // RowFault::of_line
};

// Fills `line` from the JSON of a log line, all but number, offset and size. Returns why it is not
// a line that Windrow writes into this kind of log, or nothing.
std::optional<std::string_view> read_log_line(const boost::json::value& value, LogKind kind,
                                              LogLine& line);

struct LogScan {
  int64_t lines = 0;         // without stray ones
  uint64_t whole_bytes = 0;  // up to and with the last line end
  uint64_t torn_bytes = 0;   // behind it: a line that was not completed
};

using LogVisit = std::function<Result<void>(const LogLine&)>;

// A stray line: JSON with a custom_id, but not a line that Windrow writes into this kind of log.
// `line` has only its place and the custom_id; `why`: "it is not ...".
using StrayVisit = std::function<void(const LogLine& line, std::string_view why)>;

// Calls `each` for every whole line, in order, and stops at its first error; calls `stray`, if
// given, for a stray line. `path` names the file in messages. Starts at `begin`, the beginning of a
// line; line numbers count from there. Changes nothing.
//   kInvalid  a whole line that Windrow did not write into this kind of log, or a torn end that
//             does not begin like one: the message names the line and says what to do
//   kIo
Result<LogScan> scan_log(store::ReadFile& file, const std::string& path, LogKind kind,
                         const LogVisit& each, uint64_t begin = 0,
                         const StrayVisit& stray = nullptr);

}  // namespace windrow::batch
