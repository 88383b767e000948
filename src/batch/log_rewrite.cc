#include "batch/log_rewrite.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "batch/log_scan.h"

namespace windrow::batch {
namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;

using File = std::unique_ptr<store::ReadFile>;

// Nothing where there is no such file.
Result<File> open_log(store::Disk& disk, const std::string& path) {
  auto file = disk.open_read(path);
  if (!file && file.error().kind == ErrorKind::kNotFound) return File();
  return file;
}

Result<StandingFailures> standing_failures(store::ReadFile& errors, store::Disk& disk,
                                           const JobPaths& paths, uint64_t results_begin) {
  StandingFailures standing;
  const auto failures =
      scan_log(errors, paths.errors, LogKind::kErrors, [&](const LogLine& line) -> Result<void> {
        standing.add_failure(line.identity);
        return {};
      });
  if (!failures) return failures.error();
  const Result<File> results = open_log(disk, paths.results);
  if (!results) return results.error();
  if (*results == nullptr || standing.size() == 0) return standing;
  const auto answered = scan_log(
      **results, paths.results, LogKind::kResults,
      [&](const LogLine& line) -> Result<void> {
        standing.add_result(line.identity);
        return {};
      },
      results_begin);
  if (!answered) return answered.error();
  return standing;
}

Result<void> write_kept(store::Disk& disk, store::ReadFile& errors, const std::vector<bool>& kept,
                        const std::string& temporary) {
  auto file = disk.open_append(temporary);
  if (!file) return file.error();
  if (auto done = (*file)->truncate(0); !done) return done;
  LogLines lines(errors);
  std::string block;
  for (const bool keep : kept) {
    const auto line = lines.next();
    if (!line) return line.error();
    if (!*line) return Error{ErrorKind::kIo, "the errors file became shorter while it was read"};
    if (!keep) continue;
    block += **line;
    block += '\n';
    if (block.size() < kWriteBytes) continue;
    if (auto done = (*file)->append(block); !done) return done;
    block.clear();
  }
  if (auto done = (*file)->append(block); !done) return done;
  return (*file)->sync();
}

}  // namespace

std::string settled_temporary(const std::string& path) {
  return path + ".settled.tmp";
}

Result<int64_t> settle_errors(store::Disk& disk, const JobPaths& paths, uint64_t results_begin,
                              const std::function<bool(const LogLine&)>& keep) {
  const Result<File> errors = open_log(disk, paths.errors);
  if (!errors) return errors.error();
  if (*errors == nullptr) return 0;
  Result<StandingFailures> standing = standing_failures(**errors, disk, paths, results_begin);
  if (!standing) return standing.error();

  std::vector<bool> kept;
  int64_t dropped = 0;
  const auto scan =
      scan_log(**errors, paths.errors, LogKind::kErrors, [&](const LogLine& line) -> Result<void> {
        kept.push_back(standing->take(line.identity) && keep(line));
        if (!kept.back()) ++dropped;
        return {};
      });
  if (!scan) return scan.error();
  if (dropped == 0) return 0;

  const std::string temporary = settled_temporary(paths.errors);
  Result<void> done = write_kept(disk, **errors, kept, temporary);
  if (done) {
    done = disk.rename(temporary, paths.errors);
    // Once the new log has the name, the next run syncs that.
    if (done) {
      done = disk.sync_folder_of(paths.errors);
      if (!done) return done.error();
      return dropped;
    }
  }
  (void)disk.remove(temporary);
  return done.error();
}

namespace {

constexpr size_t kOrderedWriteBytes = size_t{1} << 20;
constexpr size_t kOrderedReadBytes = size_t{1} << 16;

// No line of a log is shorter.
constexpr uint64_t kLineBytesMin = 128;

// 16 bytes for every line of the log.
struct Entry {
  uint64_t input_line;
  uint64_t offset;

  friend auto operator<=>(const Entry&, const Entry&) = default;
};
static_assert(sizeof(Entry) == 16);

// Gives out lines by their offsets; neighbours are read together.
class LineAt {
 public:
  explicit LineAt(store::ReadFile& file) : file_(file) {}

  // The line that begins there, with its line end. Valid until the next call.
  Result<std::string_view> line(uint64_t offset) {
    if (offset < begin_ || offset >= begin_ + bytes_.size()) {
      begin_ = offset;
      bytes_.clear();
    }
    size_t searched = offset - begin_;
    for (;;) {
      const size_t end = std::string_view(bytes_).find('\n', searched);
      if (end != std::string_view::npos) {
        return std::string_view(bytes_).substr(offset - begin_, end + 1 - (offset - begin_));
      }
      // Bytes before the line are not needed any more.
      bytes_.erase(0, offset - begin_);
      begin_ = offset;
      searched = bytes_.size();
      bytes_.resize(searched + kOrderedReadBytes);
      const auto got =
          file_.read_at(begin_ + searched, bytes_.data() + searched, kOrderedReadBytes);
      if (!got) return got.error();
      bytes_.resize(searched + *got);
      if (*got == 0) {
        return Error{ErrorKind::kIo, "the log became shorter while it was put in order"};
      }
    }
  }

 private:
  store::ReadFile& file_;
  uint64_t begin_ = 0;  // in the file, of the first of bytes_
  std::string bytes_;
};

Result<bool> write_sorted(store::Disk& disk, store::ReadFile& log,
                          const std::vector<Entry>& entries, const std::string& temporary,
                          const std::function<bool()>& interrupted) {
  auto file = disk.open_append(temporary);
  if (!file) return file.error();
  if (auto done = (*file)->truncate(0); !done) return done.error();
  LineAt lines(log);
  std::string block;
  for (const Entry& entry : entries) {
    const auto line = lines.line(entry.offset);
    if (!line) return line.error();
    block += *line;
    if (block.size() < kOrderedWriteBytes) continue;
    if (interrupted()) return false;
    if (auto done = (*file)->append(block); !done) return done.error();
    block.clear();
  }
  if (auto done = (*file)->append(block); !done) return done.error();
  if (auto done = (*file)->sync(); !done) return done.error();
  return true;
}

}  // namespace

std::string ordered_temporary(const std::string& path) {
  return path + ".ordered.tmp";
}

Result<bool> order_log(store::Disk& disk, const std::string& path, LogKind kind,
                       const std::function<bool()>& interrupted) {
  auto log = disk.open_read(path);
  if (!log) return log.error();
  const auto bytes = (*log)->size();
  if (!bytes) return bytes.error();
  // More than are needed, so that they never move: memory without writes is not allocated.
  std::vector<Entry> entries;
  entries.reserve(*bytes / kLineBytesMin);
  const auto scan = scan_log(**log, path, kind, [&](const LogLine& line) -> Result<void> {
    entries.push_back({.input_line = line.input_line, .offset = line.offset});
    return {};
  });
  if (!scan) return scan.error();
  if (std::is_sorted(entries.begin(), entries.end())) return true;
  std::sort(entries.begin(), entries.end());

  const std::string temporary = ordered_temporary(path);
  auto written = write_sorted(disk, **log, entries, temporary, interrupted);
  if (written && *written) {
    if (auto done = disk.rename(temporary, path); !done) {
      written = done.error();
    } else if (done = disk.sync_folder_of(path); !done) {
      return done.error();  // the new log has the name already; the next run syncs it
    }
  }
  if (!written || !*written) (void)disk.remove(temporary);
  return written;
}

}  // namespace windrow::batch
