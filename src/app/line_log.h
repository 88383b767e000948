// LineLog: a file that lines are appended to, each in one write, so that lines of several threads
// and processes stay whole. It can be moved away while it is written (logrotate): reopen() goes on
// under the old name.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace windrow::app {

// Thread-safe. A line that cannot be written is dropped: the work goes on without its log.
class LineLog {
 public:
  // "-": standard output. The file is for its owner alone if it is made here. kIo when it cannot be
  // opened.
  static Result<std::unique_ptr<LineLog>> open(const std::string& path);

  ~LineLog();
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;

  // `line` has no line end.
  void write(std::string line);

  // kIo: the file there was is written on.
  Result<void> reopen();

 private:
  LineLog(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  const std::string path_;
  std::mutex mutex_;
  int descriptor_;
};

}  // namespace windrow::app
