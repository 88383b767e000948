#include "report/job_status.h"

#include <functional>
#include <string>
#include <utility>

#include "batch/job_record.h"
#include "batch/log_rewrite.h"
#include "batch/log_scan.h"
#include "report/summary.h"

namespace windrow::report {
namespace {

struct Walked {
  uint64_t whole_bytes = 0;
  uint64_t torn_bytes = 0;
  uint64_t lines = 0;
};

// Every whole line of a log that is ours, up to line `lines_max`.
Result<Walked> walk_status_log(store::ReadFile* file, batch::LogKind kind, uint64_t lines_max,
                               LogTally& tally,
                               const std::function<void(const batch::LogLine&)>& each) {
  Walked walked;
  if (file == nullptr) return walked;
  batch::LogLines lines(*file);
  while (walked.lines < lines_max) {
    const auto text = lines.next();
    if (!text) return text.error();
    if (!*text) {
      walked.torn_bytes = lines.torn().size();
      break;
    }
    ++walked.lines;
    if (const std::optional<batch::LogLine> line = tally.read(kind, walked.lines, **text))
      each(*line);
  }
  walked.whole_bytes = lines.offset();
  return walked;
}

constexpr uint64_t kAllLines = UINT64_MAX;

using File = std::unique_ptr<store::ReadFile>;

// Nothing where there is no such file.
Result<File> open_status_log(store::Disk& disk, const std::string& path) {
  auto file = disk.open_read(path);
  if (!file && file.error().kind == ErrorKind::kNotFound) return File();
  return file;
}

Result<void> read_logs(store::Disk& disk, size_t failures_held_max, JobStatus& status,
                       LogTally& tally) {
  // Both are opened first: a file that a run renames to the same name later is of another moment.
  const Result<File> errors = open_status_log(disk, status.paths.errors);
  if (!errors) return errors.error();
  const Result<File> results = open_status_log(disk, status.paths.results);
  if (!results) return results.error();

  // Which failures count is known only after the results, so the errors are read twice. Odd lines
  // are counted the second time.
  batch::StandingFailures standing;
  LogTally unused;
  const auto failures = walk_status_log(errors->get(), batch::LogKind::kErrors, kAllLines, unused,
                                        [&](const batch::LogLine& line) {
                                          if (standing.size() < failures_held_max) {
                                            standing.add_failure(line.identity);
                                          } else {
                                            status.superseded_unknown = true;
                                          }
                                        });
  if (!failures) return failures.error();
  const auto answers = walk_status_log(results->get(), batch::LogKind::kResults, kAllLines, tally,
                                       [&](const batch::LogLine& line) {
                                         standing.add_result(line.identity);
                                         tally.count_result();
                                       });
  if (!answers) return answers.error();
  const auto counted =
      walk_status_log(errors->get(), batch::LogKind::kErrors, failures->lines, tally,
                      [&](const batch::LogLine& line) {
                        if (status.superseded_unknown || standing.take(line.identity)) {
                          tally.count_failure();
                        } else {
                          ++status.superseded;
                        }
                      });
  if (!counted) return counted.error();
  status.results_bytes = answers->whole_bytes;
  status.results_torn_bytes = answers->torn_bytes;
  status.errors_bytes = failures->whole_bytes;
  status.errors_torn_bytes = failures->torn_bytes;
  return {};
}

}  // namespace

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::kRunning:
      return "running";
    case JobState::kFinished:
      return "finished";
    case JobState::kIncomplete:
      return "incomplete";
    case JobState::kInterrupted:
      return "interrupted";
    case JobState::kFailed:
      return "failed";
    case JobState::kCutShort:
      return "cut_short";
  }
  return "";
}

JobState judge_state(const std::optional<batch::LastRun>& last, int64_t results_bytes,
                     int64_t errors_bytes) {
  if (!last || last->results_bytes != results_bytes || last->errors_bytes != errors_bytes) {
    return JobState::kCutShort;
  }
  if (last->end == to_string(RunEnd::kInterrupted)) return JobState::kInterrupted;
  if (last->end == to_string(RunEnd::kFailed)) return JobState::kFailed;
  return last->rows_left > 0 ? JobState::kIncomplete : JobState::kFinished;
}

std::optional<ProgressRecord> read_progress_of(store::Disk& disk, const batch::JobPaths& paths) {
  const Result<std::string> text = disk.read_all(paths.progress);
  return text ? read_progress_record(*text) : std::nullopt;
}

Result<JobStatus> read_job_status(store::Disk& disk, const batch::JobPaths& paths,
                                  const Clock& clock, size_t failures_held_max) {
  JobStatus status{.paths = paths};
  const auto holder = disk.lock_holder(paths.lock);
  if (!holder) return holder.error();
  if (const auto record = disk.read_all(paths.record)) {
    if (auto parsed = batch::parse_job_record(*record, paths.record)) status.input = parsed->input;
  }
  auto tally = std::make_unique<LogTally>();
  if (auto done = read_logs(disk, failures_held_max, status, *tally); !done) return done.error();
  status.tally = std::move(tally);
  if (const auto summary = disk.read_all(paths.summary))
    status.last = batch::read_last_run(*summary);
  if (*holder) {
    status.state = JobState::kRunning;
    status.holder = **holder;
    status.progress = read_progress_of(disk, paths);
    if (status.progress)
      status.progress_age_s = clock.unix_seconds() - status.progress->written_unix_s;
  } else {
    status.state = judge_state(
        status.last, static_cast<int64_t>(status.results_bytes + status.results_torn_bytes),
        static_cast<int64_t>(status.errors_bytes + status.errors_torn_bytes));
  }
  return status;
}

}  // namespace windrow::report
