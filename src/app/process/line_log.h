// LineLog: a file that lines are appended to, on a thread of its own, so that who has something to
// log never waits for a disk or a reader. It can be moved away while it is written (logrotate):
// reopen() goes on under the old name.
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

// Thread-safe. A line for which there is no room, or that cannot be written, is dropped: the work
// goes on without its log.
class LineLog {
 public:
  // Lines that wait to be written; more are dropped.
  static constexpr size_t kWaitingBytesMax = size_t{8} << 20;

  // "-": standard output. The file is for its owner alone if it is made here; a last line in it
  // that has no end, as a crash leaves it, gets one before the next. kIo when it cannot be opened.
  // `warn` is told once that lines are dropped, and how many there were when it is over.
  static Result<std::unique_ptr<LineLog>> open(const std::string& path,
                                               std::function<void(const std::string&)> warn);

  // Writes what waits, unless nobody takes it.
  ~LineLog();
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;

  // `line` has no line end. Never blocks.
  void write(std::string line);

  // What was given to write() before goes to the file there was. kIo: that one is written on.
  Result<void> reopen();

 private:
  LineLog(std::string path, int descriptor, std::function<void(const std::string&)> warn);

  void run(const std::stop_token& stop);
  bool put(std::string_view line, const std::stop_token& stop);
  bool wait_until_writable(const std::stop_token& stop) const;
  void dropped(int64_t lines, const std::string& why);

  const std::string path_;
  const std::function<void(const std::string&)> warn_;
  int descriptor_;       // the thread's
  bool torn_ = false;    // the thread's: the last line of the file has no end
  int64_t dropped_ = 0;  // the thread's: since lines were written last

  std::mutex mutex_;
  std::condition_variable_any filled_;
  std::deque<std::string> waiting_;
  size_t waiting_bytes_ = 0;
  int64_t no_room_ = 0;  // lines for which there was none
  int next_descriptor_ = -1;
  size_t lines_before_next_ = 0;  // of `waiting_`, that go to the file there was

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace windrow::app
