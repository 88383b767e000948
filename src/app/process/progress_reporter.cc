#include "app/process/progress_reporter.h"

#include <utility>

namespace windrow::app {
namespace {

constexpr std::chrono::milliseconds kInterval(200);

bool rows_run(batch::JobPhase phase) {
  return phase == batch::JobPhase::kRunning || phase == batch::JobPhase::kStopping;
}

}  // namespace

ProgressReporter::ProgressReporter(Console& console, Read read, Seen seen)
    : console_(console),
      read_(std::move(read)),
      watch_{.progress = {}, .history = report::ThroughputHistory(), .seen = std::move(seen)},
      thread_([this] { run(); }) {}

ProgressReporter::~ProgressReporter() {
  stop();
}

void ProgressReporter::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  watch_.look(read_(), console_);
  console_.end_progress();
}

void ProgressReporter::Watch::look(const report::ProgressReading& reading, Console& console) {
  progress.observe(reading);
  // The charts show the time in which rows ran, up to the reading in which they no longer do. A run
  // may begin and end between two looks; then it took all of the time between them.
  const bool running_now = rows_run(reading.phase);
  const bool missed = !running_now && !running && reading.rows_this_run > last.rows_this_run;
  if (missed) history.observe(last);
  if (running_now || running || missed) history.observe(reading);
  running = running_now;
  last = reading;
  const report::ProgressNumbers numbers = progress.numbers();
  console.progress(numbers);
  if (seen) seen(numbers);
}

void ProgressReporter::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    watch_.look(read_(), console_);
    lock.lock();
    stopped_.wait_for(lock, kInterval, [this] { return stop_; });
  }
}

}  // namespace windrow::app
