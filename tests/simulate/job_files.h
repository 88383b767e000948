// The files that a job leaves, read the plain way: by nothing of Windrow's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace windrow::simulate {

struct LogEntry {
  int64_t line = 0;       // of the input
  std::string custom_id;  // empty: a line without a name
  bool of_line = false;   // says something of a line, not of the row it names
  std::string answer;     // of a result
  std::string code;       // of an error
  int64_t status = 0;     // of an error
  int64_t attempts = 0;

  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

struct Log {
  std::vector<LogEntry> entries;
  std::string torn;    // what stands behind the last line end
  std::string broken;  // why a whole line is none of a log; empty: all are
};

Log read_log(const std::string& text);

}  // namespace windrow::simulate
