// Reading a log back: which rows have a line, and where its last whole line ends. This is the whole
// of recovery: nothing else remembers what is done.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "store/disk.h"

namespace windrow::batch {

enum class LogKind : uint8_t { kResults, kErrors };

// What a line of a log says about its row.
struct LogLine {
  uint64_t number = 0;  // in the log, from 1
  uint64_t offset = 0;  // of its first byte
  uint64_t size = 0;    // in bytes, its line end included
  Hash128 identity;     // as RowKey's
  uint64_t fingerprint = 0;
  uint64_t input_line = 0;

  // Valid as long as what it was read from; empty or 0 when there is none.
  std::string_view custom_id;
  std::string_view code;  // of a failure
  int32_t status = 0;     // of the response
  bool of_line = false;   // the failure is that of a line that became no request
};

// Fills what the JSON of one line says (all but number, offset and size); why it is not a line that
// Windrow writes into this kind of log, when it is none.
std::optional<std::string_view> read_log_line(const boost::json::value& value, LogKind kind,
                                              LogLine& line);

struct LogScan {
  int64_t lines = 0;         // stray ones not included
  uint64_t whole_bytes = 0;  // up to and with the last line end
  uint64_t torn_bytes =
      0;  // behind it: the beginning of a line whose writer did not live to end it
};

using LogVisit = std::function<Result<void>(const LogLine&)>;

// A line that is JSON and has a custom_id, and is yet none that Windrow wrote into this kind of
// log. Of `line` there are the place and the custom_id; `why`: "it is not ...".
using StrayVisit = std::function<void(const LogLine& line, std::string_view why)>;

// Calls `each` for every whole line, in order, and stops at its first error; for a stray one it
// calls `stray` where there is one. `path` is what messages call the file. Of a log that was read
// before, the part from `begin` on, where a line begins, may do; the numbers of lines count from
// there. Changes nothing.
//   kInvalid  a whole line that Windrow did not write into this kind of log, or a torn end that
//             does not begin like one: the message names the line and says what to do
//   kIo
Result<LogScan> scan_log(store::ReadFile& file, const std::string& path, LogKind kind,
                         const LogVisit& each, uint64_t begin = 0,
                         const StrayVisit& stray = nullptr);

}  // namespace windrow::batch
