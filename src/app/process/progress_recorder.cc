#include "app/process/progress_recorder.h"

#include <memory>
#include <utility>

#include "base/result.h"
#include "report/progress_record.h"

namespace windrow::app {
namespace {

constexpr Duration kRecordInterval = std::chrono::seconds(1);

bool is_recorded(batch::JobPhase phase) {
  return phase != batch::JobPhase::kOpening && phase != batch::JobPhase::kWaiting;
}

}  // namespace

ProgressRecorder::ProgressRecorder(store::Disk& disk, const Clock& clock, std::string path)
    : disk_(disk), clock_(clock), path_(std::move(path)) {
  if (disk_.exists(path_)) (void)disk_.remove(path_);
}

ProgressRecorder::~ProgressRecorder() {
  if (written_at_) (void)disk_.remove(path_);
}

void ProgressRecorder::observe(const report::ProgressNumbers& numbers) {
  if (!is_recorded(numbers.phase)) return;
  const TimePoint now = clock_.now();
  const bool due = !written_at_ || now - *written_at_ >= kRecordInterval;
  if (!due && numbers.phase == phase_) return;
  written_at_ = now;
  phase_ = numbers.phase;
  write(
      report::progress_record_text({.numbers = numbers, .written_unix_s = clock_.unix_seconds()}));
}

// A reader finds the old text or the new one. Neither is synced: after a power failure no process
// runs the job, and the file means nothing.
void ProgressRecorder::write(std::string_view text) {
  const std::string beside = path_ + ".tmp";
  {
    const Result<std::unique_ptr<store::AppendFile>> file = disk_.open_append(beside);
    if (!file || !(*file)->truncate(0) || !(*file)->append(text)) {
      if (disk_.exists(beside)) (void)disk_.remove(beside);
      return;
    }
  }
  (void)disk_.rename(beside, path_);
}

}  // namespace windrow::app
