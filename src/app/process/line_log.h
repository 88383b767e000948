// LineLog: a log file. A thread of its own appends the lines, so that write() never waits for a
// disk or a reader. The file can be moved away while it is written (logrotate): reopen() continues
// under the old name.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"

namespace windrow::app {

// Thread-safe. A line for which there is no room, or that cannot be written, is dropped: requests
// do not fail because of their log.
class LineLog {
 public:
  // The most bytes that wait to be written; further lines are dropped.
  static constexpr size_t kWaitingBytesMax = size_t{8} << 20;

  // `path` "-" is standard output. A new file can be read by its owner alone; a last line without
  // an end, as a crash leaves it, gets one before the next line. `warn` is called when lines begin
  // to be dropped, and with their number when that is over. Errors: kIo.
  static Result<std::unique_ptr<LineLog>> open(const std::string& path,
                                               std::function<void(const std::string&)> warn);

  // Writes the lines that wait, as far as the reader takes them.
  ~LineLog();
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;

  // `line` has no line end. Never blocks.
  void write(std::string line);

  // Lines from earlier calls of write() go to the old file. Errors: kIo; then the old file stays in
  // use.
  Result<void> reopen();

 private:
  LineLog(std::string path, int descriptor, std::function<void(const std::string&)> warn);

  void run(const std::stop_token& stop);
  bool put(std::string_view line, const std::stop_token& stop);
  bool wait_until_writable(const std::stop_token& stop) const;
  void dropped(int64_t lines, const std::string& why);

  const std::string path_;
  const std::function<void(const std::string&)> warn_;

  // Used by the thread only.
  int descriptor_;
  bool torn_ = false;    // the last line of the file has no end
  int64_t dropped_ = 0;  // lines, since one was written

  std::mutex mutex_;
  std::condition_variable_any filled_;
  std::deque<std::string> waiting_;
  size_t waiting_bytes_ = 0;
  int64_t no_room_ = 0;  // lines that did not fit
  int next_descriptor_ = -1;
  size_t lines_before_next_ = 0;  // of `waiting_`, that go to the old file

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace windrow::app
