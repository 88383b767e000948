#include "batch/job_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/format.h"
#include "batch/job_paths.h"
#include "batch/log_rewrite.h"
#include "batch/log_scan.h"
#include "batch/salvage_logs.h"

namespace windrow::batch {
namespace {

// The input would be taken for a log, or be moved away by --fresh.
Result<void> check_input_is_another_file(const std::string& input, const JobPaths& paths) {
  if (input == "-") return {};
  for (const std::string* path :
       {&paths.results, &paths.errors, &paths.summary, &paths.record, &paths.quarantine}) {
    std::error_code error;
    if (*path == input || std::filesystem::equivalent(*path, input, error)) {
      return Error{
          ErrorKind::kInvalid,
          fmt::format("{} is the input and would be written to; name another output", input)};
    }
  }
  return {};
}

Result<std::unique_ptr<store::FileLock>> lock_output(store::Disk& disk, const JobPaths& paths) {
  auto lock = disk.lock(paths.lock);
  if (lock) return lock;
  switch (lock.error().kind) {
    case ErrorKind::kNotFound:
      return Error{
          ErrorKind::kNotFound,
          fmt::format("the folder of the output {} does not exist; make it first", paths.results)};
    case ErrorKind::kConflict:
      return Error{ErrorKind::kConflict,
                   fmt::format("another run writes {}: {}", paths.results, lock.error().message)};
    case ErrorKind::kDiskFull:
      return lock.error();
    default:
      return Error{
          lock.error().kind,
          fmt::format("nothing can be written beside the output {}: {}; name an output in a "
                      "folder that you may write to",
                      paths.results, lock.error().message)};
  }
}

// A symbolic link is followed once and for all: a log that is written anew takes the place of the
// file, not of the link.
std::string followed(std::string path) {
  constexpr int kLinksMax = 40;
  std::error_code error;
  for (int i = 0; i < kLinksMax && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = (std::filesystem::path(path).parent_path() / target).string();
  }
  return path;
}

// The lock file works for processes that use the same name; this lock works for all.
Result<void> lock_results(store::Disk& disk, JobFiles& files) {
  const std::string& path = files.paths.results;
  if (files.results_lock && files.results_lock->is_of(path)) return {};
  auto lock = disk.lock_file(path);
  if (lock) {
    files.results_lock = *std::move(lock);
    return {};
  }
  if (lock.error().kind != ErrorKind::kConflict) return lock.error();
  return Error{ErrorKind::kConflict,
               fmt::format("another run writes {}: {}", path, lock.error().message)};
}

// No other process writes to a log between the scan that read it and the first group.
Result<void> check_as_it_was_read(store::Disk& disk, const std::string& path, uint64_t bytes) {
  const auto file = disk.open_read(path);
  if (!file && file.error().kind == ErrorKind::kNotFound && bytes == 0) return {};
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  if (*size == bytes) return {};
  return Error{ErrorKind::kConflict,
               fmt::format("{} was changed by something else since it was read: it has {} bytes "
                           "and had {}; nothing was changed. Run the same command again",
                           path, *size, bytes)};
}

Error other_results_error(const JobPaths& paths, const std::string& other) {
  return Error{
      ErrorKind::kConflict,
      fmt::format("{} belongs to the results in {}, and {} would have the same files beside it ({} "
                  "too); name an output that differs in more than its ending",
                  paths.record, other, paths.results, paths.errors)};
}

// Two results that differ only in their ending have one record.
Result<void> check_record_is_of(store::Disk& disk, const JobPaths& paths, const std::string& input,
                                const Result<JobRecord>& record) {
  if (record && !record->results.empty()) {
    const std::string named = paths.results_named(record->results);
    return named == paths.results ? Result<void>() : other_results_error(paths, named);
  }
  // Early records do not name theirs.
  if (!disk.exists(paths.record) || disk.exists(paths.results)) return {};
  for (const std::string& other : paths.other_results()) {
    if (other != input && disk.exists(other)) return other_results_error(paths, other);
  }
  return {};
}

struct ScannedLog {
  int64_t lines = 0;
  uint64_t whole_bytes = 0;
  uint64_t torn_bytes = 0;
};

// Beside its record a log is ours, and an odd line of it costs itself only; a server has its own
// way with damaged logs (salvage_logs.h).
bool may_quarantine(const JobOptions& options, const Result<JobRecord>& record) {
  return record.has_value() && !options.unattended;
}

Result<ScannedLog> read_log(store::Disk& disk, const std::string& path, LogKind kind,
                            bool quarantines, const LogVisit& each, JobFiles& files) {
  auto file = disk.open_read(path);
  if (!file) {
    if (file.error().kind == ErrorKind::kNotFound) return ScannedLog{};
    return file.error();
  }
  StrayVisit stray;
  if (quarantines) {
    stray = [&](const LogLine& line, std::string_view why) {
      files.quarantine.add(path, kind, line, why);
    };
  }
  const auto scan = scan_log(**file, path, kind, each, 0, stray);
  if (!scan) return scan.error();
  files.start.torn_bytes += static_cast<int64_t>(scan->torn_bytes);
  return ScannedLog{
      .lines = scan->lines, .whole_bytes = scan->whole_bytes, .torn_bytes = scan->torn_bytes};
}

Result<ScannedLog> read_results(store::Disk& disk, bool quarantines, JobFiles& files) {
  const std::string& path = files.paths.results;
  int64_t second = 0;
  std::string first_double;
  const auto add = [&](const LogLine& line) -> Result<void> {
    if (files.index.add_result(line.identity, line.fingerprint)) return {};
    ++second;
    if (quarantines) {
      files.quarantine.add(path, LogKind::kResults, line, "its row has a line before it");
    } else if (second == 1) {
      first_double = fmt::format("line {}, custom_id \"{}\"", line.number, line.custom_id);
    }
    return {};
  };
  Result<ScannedLog> read = read_log(disk, path, LogKind::kResults, quarantines, add, files);
  if (read && !first_double.empty()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: {} for a custom_id that an earlier line has (the first: {}); "
                             "nothing was changed. Delete one of each two, or use --fresh, which "
                             "keeps the file under another name and starts over",
                             path,
                             second == 1 ? std::string("a line is")
                                         : fmt::format("{} lines are", with_thousands(second)),
                             first_double)};
  }
  if (read) read->lines -= second;
  return read;
}

// After the results, which stand whatever failed before them.
Result<ScannedLog> read_errors(store::Disk& disk, const JobOptions& options, bool quarantines,
                               JobFiles& files) {
  const auto add = [&](const LogLine& line) -> Result<void> {
    const bool retried = options.retry_failed && options.retried.takes(line.status, line.code);
    if (!files.index.add_failure(line.identity, line.fingerprint, retried)) files.unsettled = true;
    if (retried && line.of_line) files.index.retry_line(line.input_line);
    return {};
  };
  return read_log(disk, files.paths.errors, LogKind::kErrors, quarantines, add, files);
}

// The record of the results that are there; they cannot be continued without one.
Result<JobRecord> read_job_record_file(store::Disk& disk, const JobPaths& paths) {
  const auto text = disk.read_all(paths.record);
  if (text) return parse_job_record(*text, paths.record);
  if (text.error().kind != ErrorKind::kNotFound) return text.error();
  return Error{
      ErrorKind::kConflict,
      fmt::format("{} holds results, but {}, which says how they were made, is gone; put it "
                  "back, or use --fresh, which keeps the old files under another name and "
                  "starts over",
                  paths.results, paths.record)};
}

}  // namespace

Result<JobFiles> open_job_files(const JobOptions& options, store::Disk& disk) {
  JobFiles files;
  auto paths = job_paths(options.output_path);
  if (!paths) return paths.error();
  files.paths = *std::move(paths);
  if (auto done = check_input_is_another_file(options.input_name, files.paths); !done) {
    return done.error();
  }
  if (auto done = check_output_file("the output", files.paths.results); !done) {
    return done.error();
  }
  auto lock = lock_output(disk, files.paths);
  if (!lock) return lock.error();
  files.lock = *std::move(lock);

  Result<JobRecord> record = read_job_record_file(disk, files.paths);
  if (auto done = check_record_is_of(disk, files.paths, options.input_name, record); !done)
    return done.error();
  // --fresh moves the link away, and what it leads to stays.
  if (!options.fresh) files.paths.results = followed(files.paths.results);
  auto locked = lock_results(disk, files);
  if (!locked && locked.error().kind != ErrorKind::kNotFound) return locked.error();

  if (options.fresh) {
    files.moves = plan_fresh_moves(disk, files.paths);
  } else {
    const bool quarantines = may_quarantine(options, record);
    const auto results = read_results(disk, quarantines, files);
    if (!results) return results.error();
    files.start.results_before = results->lines;
    files.results_bytes = results->whole_bytes;
    files.results_torn = results->torn_bytes;
    const auto errors = read_errors(disk, options, quarantines, files);
    if (!errors) return errors.error();
    files.errors_bytes = errors->whole_bytes;
    files.errors_torn = errors->torn_bytes;
    // A server knows its results, and its messages have no reader.
    if (!options.unattended) {
      const auto counted = find_lost_results(
          disk, files.paths, results->lines + files.quarantine.lines(LogKind::kResults));
      if (!counted) return counted.error();
      files.start.results_counted = *counted;
    }
    const RowIndex::Totals totals = files.index.totals();
    files.start.errors_before = totals.failed;
    files.start.retried = totals.retried;
    if (options.only_retried) files.index.want_only_retried();
  }
  files.start.resumed = files.start.results_before + files.start.errors_before > 0;
  for (const Move& move : files.moves)
    files.start.moved.push_back(move.to);
  files.start.quarantined = files.quarantine.lines();
  files.start.quarantined_first = files.quarantine.first();

  files.start.began_unix_s = options.now_unix_s;
  if (files.start.resumed) {
    if (!record) return record.error();
    const auto changes = changed_so_far(record->settings, settings_of(options));
    if (!changes.empty()) return changed_settings_error(changes, files.paths.results);
    files.record = *std::move(record);
    files.start.began_unix_s = files.record->began_unix_s.value_or(options.now_unix_s);
  }
  return files;
}

Result<ResultLog> begin_job_files(JobFiles& files, const JobRecord& record, store::Disk& disk) {
  if (files.record) {
    const auto changes = changed_settings(files.record->settings, record.settings);
    if (!changes.empty()) return changed_settings_error(changes, files.paths.results);
  }
  if (auto done = move_all(disk, files.moves); !done) return done.error();
  // A process that was killed while it rewrote a log leaves these.
  for (const std::string& temporary :
       {ordered_temporary(files.paths.results), ordered_temporary(files.paths.errors),
        settled_temporary(files.paths.errors), salvaged_temporary(files.paths.results),
        salvaged_temporary(files.paths.errors), quarantined_temporary(files.paths.results),
        quarantined_temporary(files.paths.errors)}) {
    if (!disk.exists(temporary)) continue;
    if (auto done = disk.remove(temporary); !done) return done.error();
  }
  for (const auto& [kind, bytes] : {std::pair(LogKind::kResults, &files.results_bytes),
                                    std::pair(LogKind::kErrors, &files.errors_bytes)}) {
    if (!files.quarantine.has(kind)) continue;
    const auto left = files.quarantine.take_out(kind, disk, files.paths, *bytes);
    if (!left) return left.error();
    *bytes = *left;
    (kind == LogKind::kResults ? files.results_torn : files.errors_torn) = 0;
  }
  // The file to be locked has to exist.
  if (auto begun = disk.open_append(files.paths.results); !begun) return begun.error();
  if (auto locked = lock_results(disk, files); !locked) return locked.error();
  for (const auto& [path, bytes] :
       {std::pair(&files.paths.results, files.results_bytes + files.results_torn),
        std::pair(&files.paths.errors, files.errors_bytes + files.errors_torn)}) {
    if (auto same = check_as_it_was_read(disk, *path, bytes); !same) return same.error();
  }
  auto log = ResultLog::open(disk, files.paths.results, files.results_bytes, files.paths.errors,
                             files.errors_bytes);
  if (!log) return log;
  // Last, so that a record without results means that the results were removed.
  if (!files.record) {
    JobRecord dated = record;
    dated.began_unix_s = files.start.began_unix_s;
    auto done = disk.write_atomically(files.paths.record, job_record_text(dated));
    if (!done) return done.error();
  }
  return log;
}

}  // namespace windrow::batch
