// ProgressReporter: the thread that looks at the counters five times a second.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "app/process/console.h"
#include "report/progress.h"
#include "report/throughput_history.h"

namespace windrow::app {

class ProgressReporter {
 public:
  using Read = std::function<report::ProgressReading()>;

  // Both are called from the thread until stop() or the destructor.
  ProgressReporter(Console& console, Read read);
  ~ProgressReporter();
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  // Takes a last reading and ends the live line. Once it returned, history() may be read.
  void stop();

  const report::ThroughputHistory& history() const { return watch_.history; }

  // One look, without the thread: what tests drive.
  struct Watch {
    report::Progress progress;
    report::ThroughputHistory history;
    bool running = false;
    report::ProgressReading last;

    void look(const report::ProgressReading& reading, Console& console);
  };

 private:
  void run();

  Console& console_;
  Read read_;
  Watch watch_;

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace windrow::app
