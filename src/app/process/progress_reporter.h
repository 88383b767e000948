// ProgressReporter: a thread that reads the counters of a job five times a second and shows them.
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
  using Seen = std::function<void(const report::ProgressNumbers&)>;

  // `console`, `read` and `seen`, which may be empty, are used from the thread until stop() or the
  // destructor.
  ProgressReporter(Console& console, Read read, Seen seen = {});
  ~ProgressReporter();
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  // Takes a last reading and ends the live line. history() may be read after it has returned.
  void stop();

  const report::ThroughputHistory& history() const { return watch_.history; }

  // One reading, without the thread; for tests.
  struct Watch {
    report::Progress progress;
    report::ThroughputHistory history;
    bool running = false;
    report::ProgressReading last;
    Seen seen = {};

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
