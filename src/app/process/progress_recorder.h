// ProgressRecorder: keeps the file RESULTS.progress.json of a running job up to date, for
// `windrow status`. The file is there only while rows run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "report/progress.h"
#include "store/disk.h"

namespace windrow::app {

// Used by one thread at a time. A disk that cannot take the file is not an error: the job is not
// about it.
class ProgressRecorder {
 public:
  // Removes the file that a killed run left; so the caller holds the lock of the job. `disk` and
  // `clock` outlive it.
  ProgressRecorder(store::Disk& disk, const Clock& clock, std::string path);

  // Removes the file.
  ~ProgressRecorder();
  ProgressRecorder(const ProgressRecorder&) = delete;
  ProgressRecorder& operator=(const ProgressRecorder&) = delete;

  // May be called as often as one likes; writes at most once a second, and at once where the phase
  // is another one. Nothing before rows run.
  void observe(const report::ProgressNumbers& numbers);

 private:
  void write(std::string_view text);

  store::Disk& disk_;
  const Clock& clock_;
  const std::string path_;
  std::optional<TimePoint> written_at_;
  batch::JobPhase phase_ = batch::JobPhase::kOpening;
};

}  // namespace windrow::app
